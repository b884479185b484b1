"""The appearance of a QR code: colors, margin and logo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc.identity.logo import Logo

# The width of the margin that scanners need, in modules (ISO/IEC 18004).
QUIET_ZONE = 4
BLACK, WHITE = "#000000", "#ffffff"
# The smallest difference in brightness that scanners can read in poor light (tests/qr/test_png.py).
MIN_CONTRAST = 0.5


@dataclass(frozen=True)
class Style:
    """The appearance of a QR code.

    `dark`, `light`: the colors of the modules and of the background, as `#rrggbb`. A `light` of None means that the
    background is transparent. `margin`: the width of the margin in modules. `logo`: the logo in the center.
    """

    dark: str = BLACK
    light: str | None = WHITE
    margin: int = QUIET_ZONE
    logo: Logo | None = None

    @property
    def contrast(self) -> float:
        """The brightness of the background minus that of the modules, where black is 0 and white is 1.

        A transparent background counts as white.
        """
        return _brightness(self.light or WHITE) - _brightness(self.dark)

    @property
    def logo_aspect(self) -> float | None:
        """The width of the logo divided by its height; None without a logo."""
        return None if self.logo is None else self.logo.aspect_ratio


PLAIN = Style()


def channels(color: str) -> tuple[int, int, int]:
    """Return the red, green and blue parts (0 to 255) of a color `#rrggbb`."""
    red, green, blue = bytes.fromhex(color[1:])
    return red, green, blue


def _brightness(color: str) -> float:
    """Return the brightness from 0 to 1, as scanners compute it from the colors of a camera (ITU-R BT.601)."""
    red, green, blue = channels(color)
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255
