"""What each public name is, for checkers of types; the names are looked up on first use."""

from shortloop.eeg.study.load import read_study as read_study
from shortloop.errors import InputError as InputError
from shortloop.jobs.exax.declare import stage as stage
from shortloop.jobs.executor import run_pipeline as run_pipeline
from shortloop.jobs.store.lookup import load as load
from shortloop.script import pipeline as pipeline
from shortloop.seeds import seed_for as seed_for
from shortloop.settings.base import Settings as Settings
from shortloop.worker.inputs import File as File
from shortloop.worker.stage import Finished as Finished
from shortloop.worker.stage import Job as Job
from shortloop.worker.stage import Out as Out
from shortloop.worker.stage import Outputs as Outputs
from shortloop.worker.stage import Stage as Stage
from shortloop.worker.stage import Values as Values

_PUBLIC: dict[str, str]
__version__: str
