"""The network of Machado et al., ICLR 2018: a code that predicts the next frame, and its successor features."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.lab.baselines.agent_steps import BRIGHTEST, STACK
from eigenax.networks.conv import Conv
from eigenax.networks.convolution import conv2d_transpose, side_after

KERNEL, STRIDE, LAYERS = 6, 2, 3
"""Side of the kernels, stride and number of the convolutions, and of the transposed ones."""


class Predictor(eqx.Module):
    """Predicts the next frame from stacked frames and an action by a latent code, and the code's successor features."""

    encoder: Conv
    of_action: Float[Array, "actions latent"]
    decoder: tuple[eqx.nn.Linear, eqx.nn.Linear]
    kernels: tuple[Float[Array, "c o k k"], ...]
    biases: tuple[Float[Array, " o"], ...]
    successor: tuple[eqx.nn.Linear, eqx.nn.Linear]
    side: int = eqx.field(static=True)

    def __init__(
        self, side: int, actions: int, *, maps: int = 64, width: int = 1024, latent: int = 2048, key: PRNGKeyArray
    ):
        keys = iter(jax.random.split(key, 6 + LAYERS))
        self.side = side
        self.encoder = Conv(
            (STACK, side, side), latent, channels=(maps,) * LAYERS, kernel=KERNEL, stride=STRIDE, width=width,
            sparsity="none", key=next(keys),
        )  # fmt: skip
        smallest = self._sides[0]
        self.of_action = jax.random.normal(next(keys), (actions, latent))
        self.decoder = (
            eqx.nn.Linear(latent, width, key=next(keys)),
            eqx.nn.Linear(width, maps * smallest**2, key=next(keys)),
        )
        counts = [(maps, maps), (maps, maps), (maps, 1)]
        scale = 1 / (KERNEL * np.sqrt(maps) / STRIDE)
        self.kernels = tuple(scale * jax.random.normal(next(keys), (*count, KERNEL, KERNEL)) for count in counts)
        self.biases = tuple(jnp.zeros(count[1]) for count in counts)
        self.successor = (
            eqx.nn.Linear(latent, width, key=next(keys)),
            eqx.nn.Linear(width, latent, key=next(keys)),
        )

    @property
    def _sides(self) -> list[int]:
        """Sides of the decoder's images, from the smallest one to a frame."""
        return [side_after(self.side, STRIDE, LAYERS - layer) for layer in range(LAYERS + 1)]

    def next_frame(self, code: Float[Array, " latent"], action: Int[Array, ""]) -> Float[Array, "h w"]:
        """The frame that an action is predicted to lead to."""
        x = jax.nn.relu(self.decoder[1](self.decoder[0](code * self.of_action[action])))
        x = x.reshape(-1, self._sides[0], self._sides[0])
        for side, kernel, bias in zip(self._sides[1:], self.kernels, self.biases, strict=True):
            x = conv2d_transpose(x, kernel, STRIDE, (side, side)) + bias[:, None, None]
            x = x if side == self.side else jax.nn.relu(x)
        return x[0]

    def with_short_kernels(self) -> "Predictor":
        """The same network with kernels in bfloat16, which halves the time of a step on a GPU."""
        kernels = (self.encoder.kernels, self.kernels)
        short = jax.tree.map(lambda kernel: kernel.astype(jnp.bfloat16), kernels)
        return eqx.tree_at(lambda network: (network.encoder.kernels, network.kernels), self, short)

    def successors(self, code: Float[Array, " latent"]) -> Float[Array, " latent"]:
        """The predicted discounted sum Σ γᵗ of future codes; its gradient does not reach the code."""
        first, last = self.successor
        return last(jax.nn.relu(first(jax.nn.relu(jax.lax.stop_gradient(code)))))

    def __call__(self, x: Float[Array, "stack h w"]) -> Float[Array, " latent"]:
        """Successor features of stacked frames with pixels from 0 to 255."""
        return self.successors(self.encoder(x / BRIGHTEST))
