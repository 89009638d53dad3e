"""Estimators with the interface of scikit-learn; they need the extra eigenax[estimators]."""

try:
    from eigenax.estimators.laplacian import LaplacianRepresentation
    from eigenax.estimators.slow_features import SlowFeatureAnalysis
    from eigenax.estimators.spectral import SpectralEmbedding
except ModuleNotFoundError as error:
    if error.name != "sklearn":
        raise
    raise ModuleNotFoundError(
        "eigenax.estimators needs scikit-learn: install the extra eigenax[estimators]", name="sklearn"
    ) from error

__all__ = ["LaplacianRepresentation", "SlowFeatureAnalysis", "SpectralEmbedding"]
