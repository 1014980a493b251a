//! Keys for masks: generated for one attempt in one process, and gone with it.

use reticent::multiparty::MaskSeed;
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::SystemRandom;
use zeroize::Zeroize;

use crate::error::Result;
use crate::hex::{Digest, Hex};
use crate::keys::no_randomness;
use crate::task::Task;

/// Domain separation for the key derivation.
const DOMAIN: &[u8] = b"reticent mask v1";

/// One private key per party of the task, including this one: a key is used for a single agreement.
pub struct MaskKeys {
    secrets: Vec<EphemeralPrivateKey>,
    public: Vec<Hex<32>>,
}

impl MaskKeys {
    /// Generates new keys.
    ///
    /// # Errors
    /// If the operating system provides no randomness.
    pub fn generate(parties: usize) -> Result<Self> {
        let (random, mut secrets, mut public) = (SystemRandom::new(), Vec::new(), Vec::new());
        for _ in 0..parties {
            let secret = EphemeralPrivateKey::generate(&X25519, &random).map_err(|_| no_randomness())?;
            let key = secret.compute_public_key().map_err(|_| no_randomness())?;
            public.push(Hex(key.as_ref().try_into().expect("such a key has 32 bytes")));
            secrets.push(secret);
        }
        Ok(Self { secrets, public })
    }

    /// The public keys.
    pub fn public(&self) -> Vec<Hex<32>> {
        self.public.clone()
    }

    /// The seeds that party `me` shares with each other party; the error is the index of a party whose key is invalid.
    ///
    /// `theirs` are the keys that the parties made for `me`; `head` is the hash of all hellos, with everyone's keys.
    pub fn agree(
        self,
        task: &Task,
        attempt: u32,
        me: usize,
        theirs: &[Hex<32>],
        head: Digest,
    ) -> Result<Vec<MaskSeed>, usize> {
        let mut seeds = Vec::with_capacity(self.secrets.len());
        for (peer, (secret, their)) in self.secrets.into_iter().zip(theirs).enumerate() {
            if peer == me {
                continue;
            }
            let session = task.session().as_bytes();
            let length = u32::try_from(session.len()).expect("a session is one line");
            let pair = [me.min(peer), me.max(peer)].map(|place| u16::try_from(place).expect("there are at most 256"));
            let (hash, length, attempt) = (task.hash(), length.to_le_bytes(), attempt.to_le_bytes());
            let pair = pair.map(u16::to_le_bytes).concat();
            let info = [DOMAIN, &hash.0[..], &length, session, &attempt, &pair];
            let agreed = agree_ephemeral(secret, &UnparsedPublicKey::new(&X25519, their.0), |shared| {
                let mut bytes = [0; 32];
                let key = Salt::new(HKDF_SHA256, &head.0).extract(shared);
                let derived = key.expand(&info, HKDF_SHA256).and_then(|key| key.fill(&mut bytes));
                derived.expect("32 bytes can be derived");
                let seed = MaskSeed::new(u32::try_from(peer).expect("there are at most 256"), &mut bytes);
                bytes.zeroize();
                seed
            });
            seeds.push(agreed.map_err(|_| peer)?);
        }
        Ok(seeds)
    }
}
