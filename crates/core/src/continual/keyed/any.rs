//! Keyed counters whose kind is known only at run time.

/// One enum over the keyed counters of all strategies; used next to the list of strategies.
macro_rules! keyed_counters {
    ($($variant:ident),+) => {
        /// A keyed counter finds keys by hash, so memory would reveal which of them came.
        const NOT_PAN_PRIVATE: &str = "one that is not pan-private when there are keys; see `SeizableKeyedCounter`";

        /// Any keyed counter.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum AnyKeyedCounter<K> {
            $(#[allow(missing_docs, reason = "named as its type")] $variant(Box<super::KeyedCounter<K, $variant>>),)+
        }

        /// Any keyed counter, ready to be saved.
        #[derive(Debug, Serialize)]
        #[serde(rename_all = "kebab-case", bound = "K: Serialize")]
        #[non_exhaustive]
        pub enum AnyKeyedSaving<'a, K> {
            $(#[allow(missing_docs, reason = "named as its type")] $variant(super::KeyedSaving<'a, K, $variant>),)+
        }

        impl<K> AnyKeyedSaving<'_, K> {
            /// Larger than in all earlier saved states of the same counter.
            pub fn epoch(&self) -> u64 {
                match self { $(Self::$variant(saving) => saving.epoch(),)+ }
            }
        }

        /// Any keyed counter's saved state.
        #[derive(Debug, Clone, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum AnyKeyedSaved<K> {
            $(#[allow(missing_docs, reason = "named as its type")] $variant(super::KeyedSaved<K, $variant>),)+
        }

        impl super::KeyedPlan<AnyStrategy> {
            /// Charges the whole stream to the permit and starts counting; `keys` are those known in advance.
            ///
            /// # Errors
            /// If the permit does not cover the guarantee, or there is no key and none can be admitted.
            pub fn start<K: std::hash::Hash + Ord + Clone>(
                self,
                keys: impl IntoIterator<Item = K>,
                permit: Permit,
            ) -> Result<AnyKeyedCounter<K>> {
                let (plan, strategy) = self.split();
                Ok(match strategy {
                    $(AnyStrategy::$variant(strategy) => {
                        AnyKeyedCounter::$variant(Box::new(plan.map(|()| strategy).start(keys, permit)?))
                    })+
                    other => return Err(Error::parameter("counter", other.kind(), NOT_PAN_PRIVATE)),
                })
            }
        }

        impl super::KeyedPlan<AnyStrategy> {
            /// Starts on a charge made earlier: see [`StreamCounter::begin`].
            ///
            /// # Errors
            /// If there is no key and none can be admitted.
            pub fn begin<K: std::hash::Hash + Ord + Clone>(
                self,
                keys: impl IntoIterator<Item = K>,
                permit: StreamPermit,
            ) -> Result<AnyKeyedCounter<K>> {
                let (plan, strategy) = self.split();
                Ok(match strategy {
                    $(AnyStrategy::$variant(strategy) => {
                        AnyKeyedCounter::$variant(Box::new(plan.map(|()| strategy).begin(keys, permit)?))
                    })+
                    other => return Err(Error::parameter("counter", other.kind(), NOT_PAN_PRIVATE)),
                })
            }
        }

        impl<K: std::hash::Hash + Ord + Clone> AnyKeyedCounter<K> {
            /// See [`KeyedCounter::add`](super::KeyedCounter::add).
            #[inline]
            pub fn add<Q>(&mut self, key: &Q, value: i64)
            where
                K: std::borrow::Borrow<Q>,
                Q: std::hash::Hash + Eq + ToOwned<Owned = K> + ?Sized,
            {
                match self { $(Self::$variant(counter) => counter.add(key, value),)+ }
            }

            /// See [`KeyedCounter::add_sum`](super::KeyedCounter::add_sum).
            pub fn add_sum<Q>(&mut self, key: &Q, sum: i128)
            where
                K: std::borrow::Borrow<Q>,
                Q: std::hash::Hash + Eq + ToOwned<Owned = K> + ?Sized,
            {
                match self { $(Self::$variant(counter) => counter.add_sum(key, sum),)+ }
            }

            /// See [`KeyedCounter::add_all`](super::KeyedCounter::add_all).
            pub fn add_all<Q>(&mut self, events: &[(&Q, i64)])
            where
                K: std::borrow::Borrow<Q>,
                Q: std::hash::Hash + Eq + ToOwned<Owned = K> + ?Sized,
            {
                match self { $(Self::$variant(counter) => counter.add_all(events),)+ }
            }

            /// See [`KeyedCounter::close_step`](super::KeyedCounter::close_step).
            ///
            /// # Errors
            /// At the horizon, or if fresh entropy is due and not available.
            pub fn close_step(&mut self) -> Result<()> {
                match self { $(Self::$variant(counter) => counter.close_step(),)+ }
            }

            /// See [`KeyedCounter::values`](super::KeyedCounter::values).
            pub fn values(&self) -> Box<dyn ExactSizeIterator<Item = (&K, i64)> + '_> {
                match self { $(Self::$variant(counter) => Box::new(counter.values()),)+ }
            }

            /// See [`KeyedCounter::value`](super::KeyedCounter::value).
            pub fn value<Q>(&self, key: &Q) -> Option<i64>
            where
                K: std::borrow::Borrow<Q>,
                Q: std::hash::Hash + Eq + ?Sized,
            {
                match self { $(Self::$variant(counter) => counter.value(key),)+ }
            }

            /// See [`KeyedCounter::release`](super::KeyedCounter::release).
            pub fn release<Q>(&self, key: &Q) -> Option<crate::Release<i64>>
            where
                K: std::borrow::Borrow<Q>,
                Q: std::hash::Hash + Eq + ?Sized,
            {
                match self { $(Self::$variant(counter) => counter.release(key),)+ }
            }

            /// See [`KeyedCounter::error_bar`](super::KeyedCounter::error_bar).
            pub fn error_bar(&self) -> Option<crate::ErrorBar> {
                match self { $(Self::$variant(counter) => counter.error_bar(),)+ }
            }

            /// See [`Strategy::kind`].
            pub fn kind(&self) -> CounterKind {
                match self { $(Self::$variant(counter) => counter.plan().strategy().kind(),)+ }
            }

            /// See [`KeyedCounter::stream`](super::KeyedCounter::stream).
            pub fn stream(&self) -> &Stream {
                match self { $(Self::$variant(counter) => counter.stream(),)+ }
            }

            /// See [`KeyedCounter::guarantee`](super::KeyedCounter::guarantee).
            pub fn guarantee(&self) -> &Guarantee {
                match self { $(Self::$variant(counter) => counter.guarantee(),)+ }
            }

            /// See [`KeyedCounter::accounting`](super::KeyedCounter::accounting).
            pub fn accounting(&self) -> &Accounting {
                match self { $(Self::$variant(counter) => counter.accounting(),)+ }
            }

            /// See [`KeyedCounter::steps`](super::KeyedCounter::steps).
            pub fn steps(&self) -> u64 {
                match self { $(Self::$variant(counter) => counter.steps(),)+ }
            }

            /// See [`KeyedCounter::variance`](super::KeyedCounter::variance).
            pub fn variance(&self, step: u64) -> f64 {
                match self { $(Self::$variant(counter) => counter.variance(step),)+ }
            }

            /// See [`KeyedCounter::half_width`](super::KeyedCounter::half_width).
            ///
            /// # Errors
            /// If the level lies outside 0 < level < 1 or the step is 0.
            pub fn half_width(&self, step: u64, level: f64) -> Result<f64> {
                match self { $(Self::$variant(counter) => counter.half_width(step, level),)+ }
            }

            /// See [`KeyedCounter::is_crowded`](super::KeyedCounter::is_crowded).
            pub fn is_crowded(&self) -> bool {
                match self { $(Self::$variant(counter) => counter.is_crowded(),)+ }
            }

            /// See [`KeyedCounter::counts`](super::KeyedCounter::counts).
            pub fn counts<Q>(&self, key: &Q) -> bool
            where
                K: std::borrow::Borrow<Q>,
                Q: std::hash::Hash + Eq + ?Sized,
            {
                match self { $(Self::$variant(counter) => counter.counts(key),)+ }
            }

            /// See [`KeyedCounter::threshold`](super::KeyedCounter::threshold).
            pub fn threshold(&self, step: u64) -> Option<i128> {
                match self { $(Self::$variant(counter) => counter.threshold(step),)+ }
            }
        }

        impl<K: std::hash::Hash + Ord + Clone> AnyKeyedCounter<K> {
            /// Saves the counter, in a new epoch.
            pub fn save(&mut self) -> AnyKeyedSaving<'_, K> {
                match self { $(Self::$variant(counter) => AnyKeyedSaving::$variant(counter.save()),)+ }
            }

            /// See [`KeyedCounter::restore`](super::KeyedCounter::restore).
            ///
            /// # Errors
            /// If the state is stale or damaged, or the permit is for another charge.
            pub fn restore(saved: AnyKeyedSaved<K>, newest_epoch: u64, permit: Permit) -> Result<Self> {
                Ok(match saved {
                    $(AnyKeyedSaved::$variant(saved) => {
                        Self::$variant(Box::new(super::KeyedCounter::restore(saved, newest_epoch, permit)?))
                    })+
                })
            }
        }

        impl<K> AnyKeyedSaved<K> {
            /// Larger than in all earlier saved states of the same counter.
            pub fn epoch(&self) -> u64 {
                match self { $(Self::$variant(saved) => saved.epoch(),)+ }
            }

            /// Where the counter was charged.
            pub fn accounting(&self) -> &Accounting {
                match self { $(Self::$variant(saved) => saved.accounting(),)+ }
            }
        }
    };
}

pub(in crate::continual) use keyed_counters;
