"""Tables for generate_misuse.py that the headers do not contain, from one file for each topic."""

from misuse_calls import AFTER, BEFORE, NEVER_VALID, PLAIN, UNRECORDED
from misuse_comm import COMM, COMM_FIELDS, COMM_OPTIONS
from misuse_handles import HANDLE_ARRAYS, HANDLES, OTHER_HANDLES, OTHER_RESULTS, RESULT_ARRAYS
from misuse_names import NAMES
from misuse_operations import OPERATIONS
from misuse_options import RESULT_STRUCTURES
from misuse_options import FIELDS as OTHER_FIELDS, OPTIONS as OTHER_OPTIONS
from misuse_training import TRAINING

# A parameter is in one topic only, so that no table hides a row of another.
VALUES = {**NAMES, **OPERATIONS, **TRAINING, **COMM}
if len(VALUES) != len(NAMES) + len(OPERATIONS) + len(TRAINING) + len(COMM):
    raise ValueError("two tables have values for one parameter")
FIELDS = {**OTHER_FIELDS, **COMM_FIELDS}
OPTIONS = {**OTHER_OPTIONS, **COMM_OPTIONS}
