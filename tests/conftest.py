"""Every test runs with the shapes in signatures checked at run time."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# Two cores are shared by pytest's workers; one thread each keeps their sum at two. Operations that tests run one by one
# are compiled with the option that all programs of eigenax have.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false --xla_cpu_use_fusion_emitters=false")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Workers and the programs they start compile the same things: once is enough.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="eigenax-tests-")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)

import jax
import pytest
from jaxtyping import config, install_import_hook
from threadpoolctl import threadpool_limits

import eigenax

# Plugins of pytest load NumPy before that variable is set: its threads would wait for each other most of the time.
threadpool_limits(int(os.environ["OPENBLAS_NUM_THREADS"]), user_api="blas")

# The rooms that import nothing until it is used have hints that name what is not there yet.
LAZY = {"cli", "lab"}
ROOMS = {path.stem for path in Path(eigenax.__file__).parent.iterdir() if not path.name.startswith("_")} - LAZY
install_import_hook([f"eigenax.{room}" for room in sorted(ROOMS)], "typechecker.check").__enter__()


@pytest.fixture
def float64():
    """Double precision for one test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def as_user():
    """Without the type checker, which is not there for a user: wrong input must reach our own checks."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)
