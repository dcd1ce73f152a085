"""The demo's source files: product photos and catalog archives to work on, made once. Needs Pillow."""

from __future__ import annotations

import csv
import io
import random
import zipfile
from pathlib import Path
from typing import IO

from PIL import Image, ImageDraw

from jobops.demo.results import fresh_file

PHOTO_SIZE = (1600, 1200)
PHOTOS = tuple(f"photo-{number:02d}.jpg" for number in range(1, 13))
BROKEN_PHOTO = "photo-half-uploaded.jpg"
CATALOGS = ("catalog-spring.zip", "catalog-autumn.zip")
BOMB = "catalog-full-history.zip"
"""A small archive that unpacks to BOMB_BYTES: read into memory at once, it takes the worker with it."""
BOMB_BYTES = 512 * 1024 * 1024


def make_sources(folder: Path) -> None:
    """Make the photos and archives that are missing in ``folder``: about 6 MB, in two or three seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(PHOTOS):
        if not (folder / name).exists():
            with fresh_file(folder / name) as file:
                _photo(random.Random(seed)).save(file, "JPEG", quality=85)
    if not (folder / BROKEN_PHOTO).exists():
        whole = (folder / PHOTOS[0]).read_bytes()
        with fresh_file(folder / BROKEN_PHOTO) as file:
            file.write(whole[: len(whole) // 2])
    for seed, name in enumerate(CATALOGS):
        if not (folder / name).exists():
            with fresh_file(folder / name) as file:
                _catalog(file, random.Random(seed), products=2_000)
    if not (folder / BOMB).exists():
        with fresh_file(folder / BOMB) as file:
            _bomb(file)


def _photo(rng: random.Random) -> Image.Image:
    """A picture with gradients, shapes and grain, so that it has a photo's weight (about 300 KB)."""
    width, height = PHOTO_SIZE
    picture = Image.radial_gradient("L").resize(PHOTO_SIZE)
    colours = [tuple(rng.randrange(256) for _ in range(3)) for _ in range(12)]
    image = Image.merge("RGB", [picture.point([(v * c) // 255 for v in range(256)]) for c in colours[0]])
    draw = ImageDraw.Draw(image)
    for colour in colours[1:]:
        x, y, size = rng.randrange(width), rng.randrange(height), rng.randrange(80, 400)
        draw.ellipse((x - size, y - size, x + size, y + size), fill=(colour[0], colour[1], colour[2]))
    grain = Image.effect_noise(PHOTO_SIZE, 40).convert("RGB")
    return Image.blend(image, grain, 0.12)


def _catalog(file: IO[bytes], rng: random.Random, products: int) -> None:
    rows = io.StringIO()
    writer = csv.writer(rows)
    writer.writerow(["sku", "name", "price", "stock"])
    for number in range(products):
        writer.writerow([f"SKU-{number:05d}", f"Product {number}", f"{rng.uniform(3, 400):.2f}", rng.randrange(500)])
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("products.csv", rows.getvalue())


def _bomb(file: IO[bytes]) -> None:
    block = b"SKU-00000,Product 0,0.00,0\r\n" * 37_450  # about 1 MB of the same line
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("products.csv", "w", force_zip64=True) as member,
    ):
        for _ in range(BOMB_BYTES // len(block)):
            member.write(block)
