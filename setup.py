"""Folders of the repository that are part of the package too: new projects use them as they are."""

from setuptools import find_packages, setup

FOLDERS = {
    "shortloop.methods": "methods",
    "shortloop.build_scripts": "build_scripts",
    "shortloop.dev": "dev",
}

setup(packages=[*find_packages(include=["shortloop", "shortloop.*"]), *FOLDERS], package_dir=FOLDERS)
