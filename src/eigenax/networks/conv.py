"""Convolutional networks for images."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.networks.base import ACTIVATIONS, Activation, HiddenLayer, Network
from eigenax.networks.block_sparse import Sparsity, initial_weights, mask
from eigenax.networks.convolution import conv2d, side_after


class Conv(Network):
    """Convolutions, one dense hidden layer and the outputs, with the paper's block sparsity across feature maps.

    Points are images (channels, height, width). The defaults are the paper's: three layers of 32 channels,
    5×5 kernels of stride 2, and 128 hidden units. Set `image_gradients` for a solver that needs the gradients of every
    single image instead of their sum, as `SpIN` with `average="jacobian"` does: on a GPU that solver is then faster,
    and every other is slower.

    >>> import jax
    >>> Conv((2, 64, 64), 12, key=jax.random.key(0))(jnp.zeros((2, 64, 64))).shape
    (12,)
    """

    kernels: tuple[Float[Array, "outputs inputs h w"], ...]
    kernel_biases: tuple[Float[Array, " outputs"], ...]
    weights: tuple[Float[Array, "outputs inputs"], ...]
    biases: tuple[Float[Array, " outputs"], ...]
    stride: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    sparsity: Sparsity = eqx.field(static=True)
    image_gradients: bool = eqx.field(static=True, default=False)

    def __init__(
        self,
        shape: tuple[int, int, int],
        outputs: int,
        *,
        channels: tuple[int, ...] = (32, 32, 32),
        kernel: int = 5,
        stride: int = 2,
        width: int = 128,
        activation: Activation = "relu",
        sparsity: Sparsity = "isolated",
        image_gradients: bool = False,
        key: PRNGKeyArray,
    ):
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {activation!r}")
        self.stride, self.activation, self.sparsity = stride, activation, sparsity
        self.image_gradients = image_gradients
        layers, keys = len(channels) + 2, jax.random.split(key, len(channels) + 2)
        maps, kernels = shape[0], []
        for layer, count in enumerate(channels, start=1):
            allowed = mask(layer, layers, maps, count, outputs, sparsity)
            taps = jax.random.split(keys[layer - 1], kernel * kernel)
            weights = jax.vmap(lambda k, a=allowed: initial_weights(k, a, kernel * kernel))(taps)
            kernels.append(jnp.moveaxis(weights, 0, -1).reshape(count, maps, kernel, kernel))
            maps = count
        self.kernels = tuple(kernels)
        self.kernel_biases = tuple(jnp.zeros(count) for count in channels)
        height, width_out = (side_after(size, stride, len(channels)) for size in shape[1:])
        hidden, last = self._dense_masks(maps, height * width_out, width, outputs)
        self.weights = (initial_weights(keys[-2], hidden), initial_weights(keys[-1], last))
        self.biases = (jnp.zeros(width), jnp.zeros(outputs))

    @property
    def separate(self) -> bool:
        """No: all functions share the first layers."""
        return False

    def last_hidden(self, x: Float[Array, "c h w"]) -> Float[Array, " width"]:
        """The values of the last hidden layer at one image."""
        act, layers = ACTIVATIONS[self.activation], len(self.kernels) + 2
        outputs = self.weights[1].shape[0]
        for layer, (kernel, bias) in enumerate(zip(self.kernels, self.kernel_biases, strict=True), start=1):
            allowed = mask(layer, layers, kernel.shape[1], kernel.shape[0], outputs, self.sparsity)
            x = conv2d(x, kernel * allowed[:, :, None, None], self.stride, self.image_gradients)
            x = act(x + bias[:, None, None])
        allowed, _ = self._dense_masks(x.shape[0], x.shape[1] * x.shape[2], self.weights[0].shape[0], outputs)
        return act((self.weights[0] * allowed) @ x.ravel() + self.biases[0])

    def __call__(self, x: Float[Array, "c h w"]) -> Float[Array, " k"]:
        """The raw values u at one image."""
        outputs, width = self.weights[1].shape
        layers = len(self.kernels) + 2
        allowed = mask(layers, layers, width, outputs, outputs, self.sparsity)
        return (self.weights[1] * allowed) @ self.last_hidden(x) + self.biases[1]

    def hidden(self) -> HiddenLayer:
        """The last hidden layer as functions of their own."""
        return HiddenLayer(self)

    def _dense_masks(self, maps: int, pixels: int, width: int, outputs: int) -> tuple:
        layers = len(self.kernels) + 2
        by_map = mask(layers - 1, layers, maps, width, outputs, self.sparsity)
        return by_map.repeat(pixels, axis=1), mask(layers, layers, width, outputs, outputs, self.sparsity)
