"""Folders of the repository that are part of the package too: new projects use them as they are."""

from setuptools import find_packages, setup

FOLDERS = {
    "shortloop.eeg.methods": "methods",
    "shortloop.eeg.build_scripts": "build_scripts",
    "shortloop.eeg.dev": "dev",
}

setup(packages=[*find_packages(include=["shortloop", "shortloop.*"]), *FOLDERS], package_dir=FOLDERS)
