"""Models beside an article's own, and models in packages that may be left out."""

import pytest

from report.errors import ReportError
from report.models.find import known
from report.study.study import read_studies, read_study
from tests.study.test_study import CONDITIONS, GOOD, write

(NAME, *_) = known.packaged()
BESIDE = f"model: {NAME} or falcon-8x8\nbeside: [falcon-8x8]\ntags:"


def front(folder, keys, **replaced):
    write(folder, GOOD.replace("tags:", keys))
    (study,) = read_studies(folder, **replaced)
    return study.front_matter


def test_an_article_names_its_model_and_others_beside_it(tmp_path):
    wanted = front(tmp_path, BESIDE)
    assert wanted.all_models == [f"{NAME} or falcon-8x8", "falcon-8x8"]
    assert wanted.labels == [None]


def test_a_model_on_the_command_line_stands_alone(tmp_path):
    assert front(tmp_path, BESIDE, model="mine").all_models == ["mine"]


def test_models_in_packages_are_left_out_on_request_where_there_is_another(tmp_path):
    assert front(tmp_path, BESIDE, real=False).all_models == ["falcon-8x8"]
    assert front(tmp_path, BESIDE, real=True).model == f"{NAME} or falcon-8x8"
    several = f"models: [{NAME} or qwen2-5x28, {NAME}]\ntags:"
    assert front(tmp_path, several, real=False).all_models == ["qwen2-5x28", NAME]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("models: [a, b]\nbeside: [c]\ntags:", "says `beside` and `models`; say one of them"),
        (
            "model: a\nrevisions: [x]\nbeside: [c]\ntags:",
            "says `beside` and `revisions`; say one of them",
        ),
        (f"beside: [c]\n{CONDITIONS}tags:", "is for articles about a passage or a table"),
        ("model: a\nbeside: [b, b]\ntags:", "names one of its `beside` twice"),
        ("table: t\nmodels: [a, b]\ntags:", "name one `model`, and others `beside` it"),
    ],
)
def test_keys_that_do_not_go_together_are_told(tmp_path, keys, said):
    path = write(tmp_path, GOOD.replace("tags:", keys))
    with pytest.raises(ReportError, match="line") as refused:
        read_study(path)
    assert said in str(refused.value)
