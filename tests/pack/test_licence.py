from __future__ import annotations

import email

import pytest

from assay.pack.licence import restriction


@pytest.mark.parametrize(
    "metadata",
    [
        "Classifier: License :: OSI Approved :: Apache Software License",
        "License: a text of many lines\nClassifier: License :: OSI Approved :: MIT License",
        "License-Expression: BSD-3-Clause",
        "License-Expression: MIT AND (Apache-2.0 OR LicenseRef-Own)",
        "License-Expression: LicenseRef-Own OR MIT",
        "License-Expression: Apache-2.0 WITH LLVM-exception",
        "License: Apache License, Version 2.0",
        "License: The MIT License",
        "License: BSD 3-Clause",
    ],
)
def test_an_open_licence_restricts_nothing(metadata: str) -> None:
    assert restriction(email.message_from_string(metadata)) is None


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ("Classifier: License :: Other/Proprietary License", "Other/Proprietary License"),
        ("License-Expression: LicenseRef-Own", "LicenseRef-Own"),
        ("License-Expression: MIT AND LicenseRef-Own", "MIT AND LicenseRef-Own"),
        ("License: Own Agreement\n        Clause 1", "Own Agreement"),
        ("Name: two", "no licence named"),
    ],
)
def test_any_other_licence_is_named(metadata: str, shown: str) -> None:
    assert restriction(email.message_from_string(metadata)) == shown
