"""Cool an annealing of a link-aware search, and offer the plans that it finds."""

from typing import Protocol

from ioopt.solvers.replication.search.budget import Budget
from ioopt.solvers.replication.search.elites import Best, Elites
from ioopt.solvers.replication.search.link_search import Annealing, Engine
from ioopt.solvers.replication.search.params import SearchParams
from ioopt.solvers.replication.search.stops import TargetMet


class Run(Protocol):
    """What a cooling needs of the run to which it belongs."""

    params: SearchParams
    budget: Budget
    engine: Engine
    target: TargetMet
    elites: Elites

    def over(self) -> bool:
        """Return whether the run must end now."""

    def judge(self, found: Best) -> None:
        """Set the rank of *found*."""

    def offer(self, found: Best) -> None:
        """Let *found* compete."""

    def next_draw(self) -> int:
        """Return the number of the first unused draw of noisy scores."""


class Cooling:
    """Cool *annealing* in stretches; between two of them, offer its best plan and ask
    whether *run* is over.

    *origin* describes the plans that are found.
    """

    def __init__(self, run: Run, annealing: Annealing, origin: str) -> None:
        self.run = run
        self.annealing = annealing
        self.origin = origin
        self.target = run.target.seconds
        """The score in seconds at which a stretch ends early."""

    def cool(self, until: float, hot: float, cold: float) -> None:
        """Anneal from temperature *hot* to *cold*, in seconds, until share *until* of
        the restart is finished.
        """
        annealing = self.annealing
        budget = self.run.budget
        base = budget.evaluations
        left = max(1, round((until - budget.progress()) * budget.size))
        total = self.moves(left)
        every = self.every(total)
        steps = 1
        while not self.run.over():
            first = annealing.evaluations
            if first >= total:
                break
            begun = budget.clock()
            steps = min(steps, total - first)
            stretch = min(steps, every - first % every)
            annealing.run(stretch, hot, cold, self.target, first, total)
            made = annealing.evaluations - first
            budget.evaluations = base + annealing.replays(annealing.evaluations)
            replays = max(1, annealing.replays(made))
            budget.replay_seconds = (budget.clock() - begun) / replays
            steps = self._next(steps)
            before = budget.evaluations
            ended = annealing.evaluations >= total
            if ended or annealing.evaluations % every == 0:
                self.at_interval()
            else:
                self.between()
            base += budget.evaluations - before
            if not made:
                break
        self.end()

    def _next(self, steps: int) -> int:
        """Return the number of moves of the next stretch; the last one made *steps*.

        Replays may end early, and then predict the time of later ones badly. The number
        of moves therefore at most doubles.
        """
        knobs = self.run.params
        budget = self.run.budget
        seconds = min(knobs.stretch_seconds, 0.5 * max(0.0, budget.left()))
        replays = int(seconds / max(budget.replay_seconds, 1e-7))
        return min(knobs.most_steps, self.annealing.steps(replays), 2 * steps)

    def moves(self, replays: int) -> int:
        """Return the number of moves that take as long as so many *replays*."""
        return self.annealing.steps(replays)

    def every(self, total: int) -> int:
        """Return the number of moves of an interval, of *total* moves."""
        return total

    def at_interval(self) -> None:
        """Offer what is due at the end of an interval, and after the last move."""
        self.between()

    def between(self) -> None:
        """Offer the best plan, if it is the best of the cycle."""
        if self.annealing.best_score < self.run.elites.of_cycle.score:
            self.run.offer(self.best())

    def end(self) -> None:
        """Do what is due at the end."""

    def best(self) -> Best:
        """Return the best plan of the annealing."""
        annealing = self.annealing
        return Best(
            annealing.best_score,
            annealing.best_score,
            queues=annealing.best_queues(),
            eviction=self.run.engine.eviction,
            origin=self.origin,
            rounds=annealing.best_rounds(),
        )

    def present(self) -> Best:
        """Return the present plan of the annealing, without a rank."""
        annealing = self.annealing
        return Best(
            annealing.exact_score(),
            queues=annealing.present_queues(),
            eviction=self.run.engine.eviction,
            origin=self.origin,
            rounds=annealing.present_rounds(),
        )


class JudgedCooling(Cooling):
    """Judge the present plan after every interval by noisy replays, and offer it."""

    def __init__(self, run: Run, annealing: Annealing, origin: str) -> None:
        super().__init__(run, annealing, origin)
        self.target = 0.0
        self.judgement = run.params.all_draws
        """The largest number of replays of one judgement."""

    def moves(self, replays: int) -> int:
        """Return the number of moves that take as long as so many *replays*, of which
        those of judgements are taken off.
        """
        # The last judgement must fit too: it judges the coldest plan.
        annealing = self.annealing
        every = self.every(0)
        whole, rest = divmod(replays, annealing.replays(every) + self.judgement)
        return max(1, whole * every + annealing.steps(max(0, rest - self.judgement)))

    def every(self, total: int) -> int:
        """Return the number of moves from one judgement to the next."""
        if self.run.elites.best.score <= self.run.target.proof:
            return self.run.params.judged_proven
        return self.run.params.judged_every

    def at_interval(self) -> None:
        """Judge the present plan, if the replays suffice."""
        if self.run.budget.unused() >= self.judgement:
            self.judge()

    def judge(self) -> None:
        """Judge the present plan, and offer it."""
        found = self.present()
        self.run.judge(found)
        self.run.offer(found)

    def between(self) -> None:
        """Offer nothing: a plan is judged first."""

    def end(self) -> None:
        """Keep the best plan as the one of least exact score, if it is."""
        if self.annealing.best_score < self.run.elites.least.score:
            self.run.elites.least = self.best()


class NoisyCooling(JudgedCooling):
    """Score plans by a few noisy replays, by other draws after each judgement."""

    def __init__(self, run: Run, annealing: Annealing, origin: str) -> None:
        super().__init__(run, annealing, origin)
        self._redraw()
        # An exact score of the present plan, and a noisy one by other draws.
        self.judgement += 1 + annealing.replays(1)

    def judge(self) -> None:
        """Judge and offer the present plan, then score it by other draws."""
        self.run.budget.evaluations += 1
        super().judge()
        self._redraw()

    def end(self) -> None:
        """Do nothing: the best score is not exact."""

    def _redraw(self) -> None:
        """Score the plans by noisy replays that the run has not used."""
        self.annealing.redraw(self.run.params.steady_draws, self.run.next_draw())
        self.run.budget.evaluations += self.annealing.replays(1)
