"""What questions are asked of: vectors that are all known."""

from __future__ import annotations

import planted
import pytest


@pytest.fixture
def model() -> planted.Planted:
    return planted.plant()
