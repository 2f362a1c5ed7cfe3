"""What each public name is, for checkers of types; the names are looked up on first use."""

from shortloop.base.errors import InputError as InputError
from shortloop.base.seeds import seed_for as seed_for
from shortloop.eeg.study.load import read_study as read_study
from shortloop.exax.declare import stage as stage
from shortloop.isolation import isolate as isolate
from shortloop.run.executor import run_pipeline as run_pipeline
from shortloop.script import pipeline as pipeline
from shortloop.settings.base import Settings as Settings
from shortloop.stages.inputs import File as File
from shortloop.stages.stage import CollectingStage as CollectingStage
from shortloop.stages.stage import Finished as Finished
from shortloop.stages.stage import Job as Job
from shortloop.stages.stage import Out as Out
from shortloop.stages.stage import Outputs as Outputs
from shortloop.stages.stage import Stage as Stage
from shortloop.stages.stage import Values as Values
from shortloop.store.loaded import load as load

_PUBLIC: dict[str, str]
__version__: str
