"""The table of all methods, from which help, plans, choices and docs are made.

Every class refers to its entry (`about`). SciPy and scikit-learn are imported only by
`Method.load`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.methods.base import DocumentTransformer


DIMENSIONS = 150
# Where documents are compared by cosine, the weight of a dimension is its eigenvalue to this power.
EIGENVALUE_POWER = 2.0
# Up to so many documents, a kernel method compares all pairs; beyond, each with the landmarks.
EXACT_DOCUMENTS = 5000
LANDMARKS = 2000

GRAPH_PARAMETERS = (
    *("graph", "n_neighbors", "radius", "edge_weights", "heat_scale"),
    *("metric", "mutual", "eigenvalue_power"),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a method, in addition to counting and its graph.

    `blocks` is the number of arrays of (documents + terms) x dimensions in memory at once,
    `more_dimensions` the working dimensions beyond those kept, and `rounds` the time for each word
    and dimension relative to RLPI.
    """

    blocks: float
    more_dimensions: int = 0
    rounds: float = 1


@dataclass(frozen=True, slots=True)
class Method:
    """What is known about a method before it is imported.

    Attributes
    ----------
    name
        Its name in options.
    home
        "module:Class" below `lpisearch.methods`.
    computes
        One line for the docs.
    cost
        See `Cost`.
    own
        Its parameters besides `n_components` and, with a graph, `GRAPH_PARAMETERS`.
    chooses
        Parameters that are "auto" unless given.
    has_graph
        Whether it learns from a document graph, and so from labels.
    has_kernel
        Whether it stores a matrix of documents x documents, up to `EXACT_DOCUMENTS`.
    is_linear
        Whether it is a linear map, with `components_` and exact explanations.
    is_nested
        Whether the first d dimensions of a fit are those of a fit with d dimensions.
    has_few_words
        Whether most loadings are exactly 0, so that a dimension can be read by its words.
    selects_terms
        Whether a dimension is one term.
    keeps_constant
        Whether it may keep a dimension that is equal for all documents.
    finds_clusters
        Whether the largest dimension of a document is its cluster.
    documents_a_dimension
        Least number of documents per dimension by default.
    """

    name: str
    home: str
    computes: str
    cost: Cost
    own: tuple[str, ...] = ()
    chooses: frozenset[str] = frozenset()
    has_graph: bool = False
    has_kernel: bool = False
    is_linear: bool = True
    is_nested: bool = False
    has_few_words: bool = False
    selects_terms: bool = False
    keeps_constant: bool = False
    finds_clusters: bool = False
    documents_a_dimension: int = 1

    @property
    def parameters(self) -> tuple[str, ...]:
        """All parameters of its constructor."""
        return ("n_components", *(GRAPH_PARAMETERS if self.has_graph else ()), *self.own)

    @property
    def module(self) -> str:
        """The full name of the module."""
        return f"lpisearch.methods.{self.home.split(':')[0]}"

    @property
    def class_name(self) -> str:
        """The name of the class."""
        return self.home.split(":")[1]

    def load(self) -> type[DocumentTransformer]:
        """Import the class."""
        loaded = getattr(import_module(self.module), self.class_name)
        return cast("type[DocumentTransformer]", loaded)

    def usual_dimensions(self, n_documents: int) -> int | str:
        """Return the default number of dimensions."""
        if "n_components" in self.chooses:
            return "auto"
        most = max(min(DIMENSIONS, n_documents - 1), 1)
        if self.documents_a_dimension == 1:
            return most
        return min(most, max(n_documents // self.documents_a_dimension, 2))


# Costs of the first four were measured on 286, 5,000 and 18,846 documents at 40, 150 and 400
# dimensions, with two cores: estimates are 0.7 to 1.5 times the time on a quiet machine. The others
# were measured once, relative to RLPI, on 4,712 documents at 150 dimensions.
_METHODS = (
    Method(
        "rlpi",
        "rlpi:RLPI",
        "leading eigenvectors of W y = λ D y, then ridge regression on the terms (rlpi-2007)",
        Cost(1.5),
        own=(
            *("alpha", "label_strength", "solver", "tolerance", "regression_tolerance"),
            "random_state",
        ),
        chooses=frozenset({"n_components", "alpha"}),
        has_graph=True,
        is_nested=True,
    ),
    Method(
        "olpi",
        "olpi:OLPI",
        "orthogonal directions about the mean, one after the other (olpi-2005)",
        Cost(5.5, 100),
        own=("centred", "svd_components", "random_state"),
        has_graph=True,
        is_nested=True,
    ),
    Method(
        "lpi",
        "lpi:LPI",
        "Zᵀ W Z b = λ Zᵀ D Z b in the space of the SVD (rlpi-2007, equation 6)",
        Cost(6, 200),
        own=("svd_components", "random_state"),
        has_graph=True,
        is_nested=True,
    ),
    Method(
        "npe",
        "npe:NPE",
        "as `lpi`, with the weights that rebuild each document from its neighbours (He, Cai, Yan, "
        "Zhang, 2005)",
        Cost(6, 200),
        own=("svd_components", "random_state"),
        has_graph=True,
        is_nested=True,
    ),
    Method(
        "lsda",
        "lsda:LSDA",
        "near to neighbours of its class, far from others: β L_b + (1 - β) W_w against D_w (Cai "
        "and others, 2007)",
        Cost(6, 200),
        own=("balance", "shrinkage", "svd_components", "random_state"),
        has_graph=True,
        is_nested=True,
        keeps_constant=True,
    ),
    Method(
        "lsi",
        "lsi:LSI",
        "leading singular vectors of X",
        Cost(5.3),
        own=("solver", "random_state"),
        is_nested=True,
        keeps_constant=True,
    ),
    Method(
        "pca",
        "pca:PCA",
        "leading eigenvectors of the covariance matrix: X about its mean, which is never "
        "written down",
        Cost(7),
        own=("solver", "random_state"),
        is_nested=True,
    ),
    Method(
        "lpp",
        "lpp:LPP",
        "as `lpi`, about the mean: over a complete graph of equal degrees it is PCA "
        "(lpp-analysis-2005)",
        Cost(7, 200),
        own=("centred", "svd_components", "random_state"),
        has_graph=True,
        is_nested=True,
    ),
    Method(
        "laplacian-score",
        "laplacian_score:LaplacianScore",
        "selects the terms f with the least fᵀ L f / fᵀ D f, each about its mean (lpfl-2012, "
        "section 2.2)",
        Cost(1),
        own=("centred",),
        has_graph=True,
        is_nested=True,
        selects_terms=True,
    ),
    Method(
        "ls+lpi",
        "ls_lpi:LSLPI",
        "`lpi` on the `n_selected` terms with the best Laplacian scores; auto: all below 1",
        Cost(3),
        own=("n_selected", "centred", "svd_components", "random_state"),
        has_graph=True,
        is_nested=True,
    ),
    Method(
        "mcfs",
        "mcfs:MCFS",
        "selects the terms with the largest weights in sparse regressions of the eigenvectors of "
        "the graph (Cai, Zhang, He, 2010)",
        Cost(1.5, rounds=5),
        own=("n_responses", "cardinality", "solver", "tolerance", "random_state"),
        chooses=frozenset({"cardinality"}),
        has_graph=True,
        selects_terms=True,
    ),
    Method(
        "slpi",
        "slpi:SLPI",
        "the lasso with the penalty `beta` on each eigenvector of the graph (Cai, He, Han, 2007)",
        Cost(2, rounds=35),
        own=("beta", "solver", "tolerance", "random_state"),
        chooses=frozenset({"n_components", "beta"}),
        has_graph=True,
        is_nested=True,
        has_few_words=True,
    ),
    Method(
        "fsslpi",
        "fsslpi:FSSL",
        "as `rlpi`, but regression with μ ‖A‖₂,₁: a term is used in all dimensions or in none",
        Cost(6, rounds=60),
        own=("mu", "tol", "max_iter", "random_state"),
        chooses=frozenset({"n_components", "mu"}),
        has_graph=True,
        has_few_words=True,
    ),
    Method(
        "lpfl",
        "lpfl:LPFL",
        "as `rlpi`, but least squares on no more than `n_selected` terms (lpfl-2012)",
        Cost(6, rounds=5),
        own=("n_selected", "mu", "rho", "selection", "tol", "max_iter", "random_state"),
        chooses=frozenset({"n_components", "n_selected"}),
        has_graph=True,
        has_few_words=True,
    ),
    Method(
        "spg",
        "spg:SPG",
        "the lasso path on each eigenvector of the graph, left at `cardinality` terms (spg-2008)",
        Cost(1.5, rounds=30),
        own=("cardinality", "solver", "tolerance", "random_state"),
        chooses=frozenset({"n_components", "cardinality"}),
        has_graph=True,
        is_nested=True,
        has_few_words=True,
    ),
    Method(
        "spca",
        "spca:SPCA",
        "the lasso path on each principal component, left at `cardinality` terms (Zou, Hastie, "
        "Tibshirani, 2006)",
        Cost(6, rounds=30),
        own=("cardinality", "solver", "random_state"),
        chooses=frozenset({"cardinality"}),
        is_nested=True,
        has_few_words=True,
    ),
    Method(
        "plsi",
        "plsi:PLSI",
        "P(w given d) = Σ_z P(z given d) P(w given z) by EM (Hofmann, 1999)",
        Cost(3, rounds=80),
        own=("beta", "held_out", "cooling", "n_init", "max_iter", "tolerance", "random_state"),
        is_linear=False,
        finds_clusters=True,
        # A dimension is a topic, and a topic of a few documents is due to chance.
        documents_a_dimension=10,
    ),
    Method(
        "nmf",
        "nmf:NMF",
        "X' ≈ V Uᵀ without negative entries, weighted as for a normalised cut (Xu, Liu, Gong, "
        "2003)",
        Cost(7, rounds=25),
        own=("weighting", "solver", "n_init", "max_iter", "tolerance", "random_state"),
        is_linear=False,
        finds_clusters=True,
        documents_a_dimension=10,
    ),
    Method(
        "gnmf",
        "gnmf:GNMF",
        "X ≈ V Uᵀ without negative entries, where neighbours have similar parts (Cai, He, Han, "
        "Huang, 2011)",
        Cost(7, rounds=25),
        own=("graph_weight", "n_init", "max_iter", "random_state"),
        has_graph=True,
        is_linear=False,
        keeps_constant=True,
        documents_a_dimension=10,
    ),
    Method(
        "eigenmaps",
        "eigenmaps:Eigenmaps",
        "leading eigenvectors of W y = λ D y are the places (lpp-analysis-2005)",
        Cost(1),
        own=("solver", "tolerance", "random_state"),
        chooses=frozenset({"n_components"}),
        has_graph=True,
        is_linear=False,
        is_nested=True,
    ),
    Method(
        "lsc",
        "lsc:LSC",
        "singular vectors of the weights between documents and landmarks (Chen, Cai, 2011)",
        Cost(1),
        own=("landmarks", "n_rounds", "n_neighbors", "gamma", "eigenvalue_power", "random_state"),
        is_linear=False,
        is_nested=True,
    ),
    Method(
        "krlpi",
        "krlpi:KRLPI",
        "responses as `rlpi`, then (K + αI) c = y with a kernel K of the cosine",
        Cost(1),
        own=(
            *("kernel", "gamma", "coef0", "degree", "alpha", "exact_documents", "landmarks"),
            *("solver", "tolerance", "random_state"),
        ),
        # α is not chosen by default, because "auto" may end at the largest value: the off-diagonal
        # kernels of a small corpus hardly differ.
        chooses=frozenset({"n_components"}),
        has_graph=True,
        has_kernel=True,
        is_linear=False,
        is_nested=True,
    ),
    Method(
        "kolpi",
        "kolpi:KOLPI",
        "as `olpi`, in the space of a kernel of the cosine (olpi-2005, section 6)",
        Cost(1, rounds=30),
        own=(
            *("kernel", "gamma", "coef0", "degree", "exact_documents", "landmarks"),
            "random_state",
        ),
        has_graph=True,
        has_kernel=True,
        is_linear=False,
        is_nested=True,
        keeps_constant=True,
    ),
)

CATALOGUE: Mapping[str, Method] = {method.name: method for method in _METHODS}
