"""Tests of the area for a logo: it is as large as the error correction of each version allows, for logos of every
shape.
"""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import Any, NamedTuple

import pytest
from segno import consts, encoder

from svc.qr.symbol import logo_area, symbol_of
from tests.qr.test_svg import LONGEST, URL

# Versions with level H for the shortest and the longest short URL.
VERSIONS = range(3, 19)
ASPECTS = [1 / 20, 1 / 4, 1 / 2, 3 / 4, 1, 4 / 3, 2, 3, 4, 20]


class Layout(NamedTuple):
    """The positions of the codewords in a version with level H.

    `words`: the number of the codeword to which each module belongs, or None. `block_of`: the number of each codeword's
    block. `capacities`: the number of wrong codewords that each block can correct.
    """

    words: list[list[int | None]]
    block_of: list[int]
    capacities: list[int]


def layout_of(version: int) -> Layout:
    """Return the layout that the drawing library uses."""
    width = 17 + 4 * version
    matrix: Any = encoder.make_matrix(width, width)
    encoder.add_finder_patterns(matrix, width, width)
    encoder.add_alignment_patterns(matrix, width, width)
    modules = [list(row) for row in matrix]
    versions: Any = consts.ECC
    blocks = [each for each in versions[version][consts.ERROR_LEVEL_H] for _ in range(each.num_blocks)]
    data = [[number] * block.num_data for number, block in enumerate(blocks)]
    restoring = [[number] * (block.num_total - block.num_data) for number, block in enumerate(blocks)]
    block_of = [n for part in (data, restoring) for n in chain.from_iterable(zip_longest(*part)) if n is not None]
    free = sum(module == 2 for row in modules for module in row)
    encoder.add_codewords(modules, [10 + bit for bit in range(free)], version)
    bits = 8 * len(block_of)  # the remaining modules belong to no codeword
    words = [[(bit - 10) // 8 if 0 <= bit - 10 < bits else None for bit in row] for row in modules]
    return Layout(words, block_of, [len(each) // 2 for each in restoring])


@pytest.mark.parametrize("version", VERSIONS)
def test_logo_damages_at_most_two_thirds_of_what_can_be_restored(version):
    """The logo may damage at most two thirds of the codewords that can be restored, even if every module in its area is
    wrong. On average, half of these modules are right.
    """
    words, block_of, capacities = layout_of(version)
    assert sum(word is not None for row in words for word in row) == 8 * len(block_of)
    for aspect in ASPECTS:
        left, top, width, height = logo_area(len(words), aspect)
        hidden = {word for row in words[top : top + height] for word in row[left : left + width]}
        damaged = [0] * len(capacities)
        for word in hidden:
            if word is not None:
                damaged[block_of[word]] += 1
        shares = [count / capacity for count, capacity in zip(damaged, capacities, strict=True)]
        assert max(shares) <= 2 / 3, aspect


@pytest.mark.parametrize("version", VERSIONS)
def test_area_is_in_the_center_and_has_the_shape_of_the_logo(version):
    for aspect in ASPECTS:
        left, top, width, height = logo_area(17 + 4 * version, aspect)
        assert 2 * left + width == 2 * top + height == 17 + 4 * version
        assert min(width, height) >= 3
        # The area is not larger than necessary: if it were two modules narrower or shorter, the logo would be smaller.
        scale = min((width - 1) / aspect, height - 1)
        assert width == 3 or (width - 3) / aspect < scale
        assert height == 3 or height - 3 < scale


def test_short_urls_need_only_these_versions():
    assert len(symbol_of("https://a.de/abc?q", 1).rows) == 17 + 4 * VERSIONS[0]
    assert len(symbol_of(LONGEST, 1).rows) == 17 + 4 * VERSIONS[-1]


def test_area_contains_no_dark_modules():
    symbol = symbol_of(URL, 2)
    assert symbol.logo_area is not None
    left, top, width, height = symbol.logo_area
    assert all(not any(row[left : left + width]) for row in symbol.rows[top : top + height])
    assert symbol_of(URL).logo_area is None
