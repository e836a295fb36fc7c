"""Answer what a quota on a work directory costs, and which settings keep a run within
the quota.
"""

TRACE = "Nextflow trace"
"""The source of instances that were read from a trace of Nextflow."""
SNAKEMAKE = "Snakemake run"
"""The source of instances that the Snakemake plugin recorded."""
BOOST = "nf-boost"
"""The plugin of Nextflow that deletes files."""
BOOST_CLEANUP = "boost { cleanup = true }"
NF_BOOST = (f"plugins {{ id '{BOOST}' }}", BOOST_CLEANUP)
"""The lines of a nextflow.config by which each file is deleted after its last
reader.
"""
NOISY_RUNS = 20
"""The number of runs with wrong estimates. The runs have different seeds."""
