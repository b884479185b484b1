"""Creates images of QR codes for a scanner: drawn from SVG, and photographed from a small print."""

from __future__ import annotations

import base64
import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import zxingcpp
from PIL import Image, ImageDraw, ImageFilter

from svc.identity.logo import Logo

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"


def logo_of(pixels: np.ndarray, **options: object) -> Logo:
    """Return pixels (height, width, channels) as a PNG logo. `options`: the options of the PNG writer."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", **options)
    return Logo(file.getvalue(), "png")


def dark_logo(width: int, height: int) -> Logo:
    """Return a logo with a random pattern in opaque black, which a scanner can mistake for modules."""
    noise = np.random.default_rng(width * height).integers(0, 2, (height // 8, width // 8), dtype=np.uint8) * 255
    pixels = np.kron(noise, np.ones((8, 8), dtype=np.uint8))
    return logo_of(np.dstack([pixels] * 3 + [np.full_like(pixels, 255)]))


def flat(png: bytes, paper: str = "white") -> Image.Image:
    """Return a PNG image on paper of this color."""
    image = Image.open(io.BytesIO(png)).convert("RGBA")
    background = Image.new("RGBA", image.size, paper)
    background.alpha_composite(image)
    return background.convert("RGB")


def drawn(code: str, pixels: int = 4, paper: str = "white") -> Image.Image:
    """Render an SVG image with `pixels` pixels per module, on paper of this color."""
    root = ET.fromstring(code)
    _, _, side, _ = (int(part) for part in root.attrib["viewBox"].split())
    rect, path, *logos = root
    fill = rect.attrib["fill"]
    image = Image.new("RGB", (side * pixels, side * pixels), paper if fill == "none" else fill)
    draw = ImageDraw.Draw(image)
    for x, y, run in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", path.attrib["d"]):
        left, top, right = int(x) * pixels, int(y) * pixels, (int(x) + int(run)) * pixels
        draw.rectangle((left, top, right - 1, top + pixels - 1), path.attrib.get("fill", "#000"))
    for logo in logos:
        left, top, width, height = (round(float(logo.attrib[name]) * pixels) for name in ("x", "y", "width", "height"))
        kind, _, data = logo.attrib[HREF].partition(";base64,")
        if kind == "data:image/png":
            picture = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA")
            factor = min(width / picture.width, height / picture.height)
            picture = picture.resize((max(1, round(picture.width * factor)), max(1, round(picture.height * factor))))
        else:  # in the worst case, the drawing fills its whole box
            picture = Image.new("RGBA", (width, height), path.attrib.get("fill", "#000"))
        image.paste(picture, (left + (width - picture.width) // 2, top + (height - picture.height) // 2), picture)
    return image


def on_desk(image: Image.Image, border: int, desk: str = "white") -> Image.Image:
    """Return the image with a border of `border` pixels in the color of the desk under the print."""
    wide = Image.new("RGB", (image.width + 2 * border, image.height + 2 * border), desk)
    wide.paste(image, (border, border))
    return wide


def photographed(image: Image.Image, modules: int, seed: int = 1) -> Image.Image:
    """Return the image as a phone sees a small print: 4 pixels per module, blurred, in poor light, with noise."""
    side = modules * 4
    small = image.resize((side, side), Image.Resampling.BOX).filter(ImageFilter.GaussianBlur(1)).convert("L")
    noise = np.random.default_rng(seed).normal(0, 5, (side, side))
    return Image.fromarray((30 + np.asarray(small) * 0.7 + noise).clip(0, 255).astype(np.uint8))


def scan(image: Image.Image) -> list[zxingcpp.Barcode]:
    """Return the QR codes that a scanner finds in the image."""
    return list(zxingcpp.read_barcodes(np.asarray(image.convert("L"))))
