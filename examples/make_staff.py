#!/usr/bin/env python3
"""Writes staff.csv: 5,000 invented people who work for an invented hospital trust, and departments.csv beside it.

Always the same rows (the seed is fixed); nothing but Python's own library is needed:

    python3 examples/make_staff.py
"""
import csv
import pathlib
import random

SEED = 20260302
PEOPLE = 5_000
# Department: building, share of the staff, what the middle of them earn in a year.
DEPARTMENTS = {
    "Care": ("Main", 0.38, 34_000),
    "Surgery": ("Main", 0.12, 62_000),
    "Emergency": ("Main", 0.11, 41_000),
    "Maternity": ("East", 0.08, 38_500),
    "Laboratory": ("East", 0.08, 39_000),
    "Pharmacy": ("East", 0.05, 44_000),
    "Kitchen": ("Annex", 0.07, 24_500),
    "Cleaning": ("Annex", 0.06, 23_500),
    "Office": ("Annex", 0.045, 36_000),
    "Direction": ("Main", 0.005, 98_000),
}

random.seed(SEED)
here = pathlib.Path(__file__).parent
names, facts = zip(*DEPARTMENTS.items())
with open(here / "staff.csv", "w", newline="") as file:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["person", "department", "age", "contract", "salary"])
    for person in range(1, PEOPLE + 1):
        place = random.choices(range(len(names)), [share for _, share, _ in facts])[0]
        age = round(min(67, max(18, random.gauss(43, 11))))
        part_time = random.random() < (0.35 if names[place] in ("Care", "Kitchen", "Cleaning") else 0.15)
        # Pay grows with age by about one per cent a year; few earn much more than the middle.
        salary = facts[place][2] * (1 + 0.01 * (age - 43)) * random.lognormvariate(0, 0.18) * (0.6 if part_time else 1)
        # Some people never told their age.
        told = "" if random.random() < 0.01 else age
        rows.writerow([f"p{person:05}", names[place], told, "part-time" if part_time else "full-time", int(round(salary, -1))])
with open(here / "departments.csv", "w", newline="") as file:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["department", "building"])
    rows.writerows((name, building) for name, (building, _, _) in DEPARTMENTS.items())
