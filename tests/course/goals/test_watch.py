"""Goals tick when their state is reached and untick when it is left; a run shows what is asked of a run."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tcptutor.course.goals.goal import GoalBoard
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.run import Fidelity, Finished, Run
from tcptutor.spec import Change
from tcptutor.wire.kernel_state import SysctlChange
from tcptutor.wire.protocol import CommandEnded, Failed, RunDetected, TerminalOutput
from tests.analysis.synthetic import empty, experiment, run_of, with_queue

from .made import INVALID, asked, carried, netem, reno_on, state, tbf, whole

NOTHING = state()
DELAYED = state({"delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)})
SHAPED = state({"delay": 0.02, "rate": 10e6, "queue": 60_000}, {"s1-eth2": (netem(delay=0.02), tbf(10e6))})
END = Finished((), Fidelity(status="valid"), 3.0)


def watching(*goals: Any, in_order: bool = False) -> GoalWatch:
    watch = GoalWatch(goals, in_order)
    watch.take(NOTHING)
    return watch


def link_run(**more: Any) -> Run:
    """Ten seconds of a flow that fills a link of 10 Mbit/s."""
    made = experiment(rate="10 Mbit/s", delay="20 ms", warmup="0 s")
    return with_queue(run_of(made, 9.5e6, rtt=0.04, **more), waiting=30_000)


def ran(watch: GoalWatch, run: Run) -> GoalBoard:
    watch.take(RunDetected(run.experiment))
    return watch.take(END, run)


def test_a_goal_ticks_and_unticks_with_its_state() -> None:
    watch = watching(
        asked("a", {"path.delay": "20 ms"}), asked("b", {"path.delay": "20 ms"}, stays_ticked=True)
    )
    assert watch.board.reached == ()
    assert watch.take(DELAYED).reached == (0, 1)
    assert watch.take(NOTHING).reached == (1,)
    assert watch.take(SHAPED).done


def test_a_page_that_begins_with_it_ticks_at_once() -> None:
    watch = GoalWatch([asked("a", {"path.rate": "none"})])
    assert not watch.board.done
    assert watch.take(NOTHING).done


def test_one_after_the_other() -> None:
    goals = [
        asked("delay", {"path.delay": "20 ms"}, stays_ticked=True),
        asked("rate", {"path.rate": "10 Mbit/s"}),
        asked("gone", {"path.delay": "0 s"}),
    ]
    watch = watching(*goals, in_order=True)
    assert [goal.due for goal in watch.board.goals] == [True, False, False]
    rate_alone = state({"rate": 10e6}, {"s1-eth2": (tbf(10e6),)})
    assert watch.take(rate_alone).reached == (), "its turn has not come"
    assert watch.take(DELAYED).reached == (0,)
    assert watch.take(SHAPED).reached == (0, 1)
    assert [goal.due for goal in watch.board.goals] == [True, True, True]
    assert watch.take(rate_alone).done


def test_an_earlier_run_does_not_count_for_a_goal_whose_turn_comes_later() -> None:
    goals = [asked("delay", {"path.delay": "20 ms"}), asked("sent", {"flow.bytes": ">= 1 MB"})]
    watch = watching(*goals, in_order=True)
    watch.take(RunDetected(NOTHING.experiment))
    watch.take(carried(1.0, 2_000_000))
    watch.take(END, None)
    assert watch.take(DELAYED).reached == (0,)
    watch.take(RunDetected(DELAYED.experiment))
    assert watch.take(carried(1.0, 999_999)).reached == (0,)
    assert watch.take(carried(1.2, 1_000_000)).done


def test_what_a_flow_has_carried_ticks_while_it_goes_on() -> None:
    watch = watching(asked("a", {"flow.bytes": ">= 1 MB"}))
    watch.take(RunDetected(NOTHING.experiment))
    watch.take(carried(1.0, 600_000, flow=0))
    assert not watch.take(carried(1.0, 600_000, flow=1)).done, "of one flow, not of both"
    assert watch.take(carried(2.0, 1_200_000)).done
    assert watch.take(END, None).done


def test_the_last_run_counts() -> None:
    watch = watching(
        asked("rate", {"run.throughput": "9 Mbit/s to 10 Mbit/s"}),
        asked("why", {"run.limited-by": "bottleneck"}),
        asked("once", {"run.throughput": "9 Mbit/s to 10 Mbit/s"}, stays_ticked=True),
    )
    watch.take(SHAPED)
    assert ran(watch, link_run()).done
    watch.take(RunDetected(link_run().experiment))
    assert watch.board.done, "the one that goes on has shown nothing yet"
    slow = run_of(experiment(rate="10 Mbit/s", delay="20 ms", warmup="0 s"), 1e6, rtt=0.02, app_limited=True)
    board = watch.take(END, slow)
    assert board.reached == (2,)
    assert [goal.near.text for goal in board.goals if goal.near] == [
        "your last run: throughput 1 Mbit/s, the goal is 9 Mbit/s to 10 Mbit/s",
        "your last run: limited by unexplained, the goal is bottleneck",
    ]


def slow_run(share: float, why: str = "the machine is too busy", **path: Any) -> Run:
    """A flow over a link of 10 Mbit/s that was full all the time and sent at `share` of its rate."""
    made = experiment(rate="10 Mbit/s", delay="20 ms", warmup="0 s")
    made = structs.replace(made, path=structs.replace(made.path, **path))
    run = with_queue(run_of(made, 9.5e6 * share, rtt=0.04), waiting=30_000)
    queue = [structs.replace(row, sent=round(share * 10e6 * row.t / 8)) for row in run.queue]
    doubt = Fidelity(status="suspect", reasons=(f"20% of the samples are missing: {why}",))
    return structs.replace(run, queue=type(run.queue)(queue), fidelity=doubt)


def test_a_link_that_a_slow_machine_ran_below_its_rate_is_judged_in_its_own_time() -> None:
    watch = watching(asked("rate", {"path.rate": "10 Mbit/s", "run.throughput": "9 Mbit/s to 10 Mbit/s"}))
    watch.take(SHAPED)
    assert ran(watch, slow_run(0.6)).done
    # A link that was full and carried less for another reason is no slow machine's.
    assert not ran(watch, slow_run(0.6, "it is not known why")).done
    assert not ran(watch, slow_run(0.6, burst=2000)).done, "its bucket is what holds it back"
    assert not ran(watch, slow_run(0.1)).done, "so slow a machine shows nothing of it"
    assert not ran(watch, whole(slow_run(0.6), fidelity=INVALID)).done


def test_the_share_of_a_slow_machine_is_told_where_the_goal_is_not_reached() -> None:
    watch = watching(asked("rate", {"run.throughput": "<= 5 Mbit/s"}))
    watch.take(SHAPED)
    near = ran(watch, slow_run(0.6)).goals[0].near
    assert near is not None
    assert (
        "throughput 9.5 Mbit/s (corrected for a link that this machine ran at 60% of its rate)" in near.text
    )


def test_what_is_wrong_is_told_once() -> None:
    watch = watching(*(asked(id, {"path.delay": "20 ms"}) for id in "ab"))
    board = watch.take(state({"reverse_delay": 0.02}, {"s1-eth1": (netem(delay=0.02),)}))
    assert [bool(goal.near) for goal in board.goals] == [True, False]


def test_all_of_a_goal_is_asked_of_one_run() -> None:
    """A delay that was set after the run is not that of the run."""
    watch = watching(asked("a", {"path.delay": "20 ms", "run.throughput": ">= 9 Mbit/s"}))
    without = run_of(experiment(rate="10 Mbit/s", delay="0 ms", warmup="0 s"), 9.5e6)
    ran(watch, without)
    assert not watch.take(SHAPED).done
    assert ran(watch, link_run()).done
    assert watch.take(NOTHING).done, "it is the run's path that is asked about"


def test_a_run_that_cannot_be_believed_shows_nothing() -> None:
    watch = watching(asked("a", {"run.throughput": ">= 9 Mbit/s"}))
    watch.take(SHAPED)
    board = ran(watch, whole(link_run(), fidelity=INVALID))
    assert not board.done
    assert board.goals[0].near is not None
    assert board.goals[0].near.text == (
        "your run does not count: netem dropped 12 packets that nobody planned to lose"
    )
    assert not ran(watch, whole(link_run(), complete=False)).done
    assert not ran(watch, empty(experiment(), complete=True)).done, "nothing was measured in it"


def test_a_flow_the_other_way_shows_nothing() -> None:
    watch = watching(asked("a", {"flow.bytes": ">= 1 kB"}))
    back = experiment(directions="reverse")
    watch.take(RunDetected(back))
    assert not watch.take(carried(1.0, 10_000)).done
    near = watch.take(structs.replace(NOTHING, experiment=back)).goals[0].near
    assert near is not None
    assert near.kind == "reversed"


def test_a_path_that_changed_meanwhile_is_not_the_runs() -> None:
    watch = watching(asked("a", {"path.rate": "10 Mbit/s", "run.throughput": ">= 9 Mbit/s"}))
    watch.take(SHAPED)
    run = link_run()
    path = structs.replace(run.experiment.path, changes=(Change(1.0, "rate", 5e6), Change(2.0, "rate", 10e6)))
    board = ran(watch, whole(run, experiment=structs.replace(run.experiment, path=path)))
    assert not board.done
    assert board.goals[0].near is not None
    assert board.goals[0].near.kind == "changed-meanwhile"


def test_what_is_set_while_a_run_goes_on_ticks_at_once() -> None:
    """A session tells then what the run began with, and what was changed since."""
    watch = watching(
        asked("delay", {"path.delay": "20 ms"}),
        asked("flow", {"path.delay": "20 ms", "flow.bytes": ">= 1 kB"}),
    )
    watch.take(RunDetected(NOTHING.experiment))
    watch.take(carried(1.0, 100_000))
    path = structs.replace(NOTHING.experiment.path, changes=(Change(1.0, "delay", 0.02),))
    board = watch.take(structs.replace(DELAYED, experiment=structs.replace(NOTHING.experiment, path=path)))
    assert board.reached == (0,), "the run did not begin with it"


def test_an_algorithm_of_the_next_connections_and_of_a_flow() -> None:
    watch = watching(
        asked("next", {"hosts.algorithm": "reno"}),
        asked("flow", {"hosts.algorithm": "reno", "flow.bytes": ">= 1 kB"}),
    )
    cubic = experiment(algorithm="cubic")
    watch.take(RunDetected(cubic))
    watch.take(carried(1.0, 10_000))
    board = watch.take(structs.replace(state(sysctls=(reno_on("h1"),)), experiment=cubic))
    assert board.reached == (0,)
    assert board.goals[1].near is not None
    assert board.goals[1].near.kind == "older-connection"
    watch.take(END, None)
    watch.take(RunDetected(experiment(algorithm="reno")))
    assert watch.take(carried(1.0, 10_000)).done


def test_what_a_sysctl_was_before_is_known_once_it_was_changed() -> None:
    watch = watching(asked("a", {"hosts.algorithm": "cubic"}))
    assert not watch.board.done, "nobody has told what it is"
    assert not watch.take(state(sysctls=(reno_on("h1"),))).done
    assert watch.take(NOTHING).done


def test_a_sysctl_of_all_hosts_and_of_one() -> None:
    watch = watching(
        asked("all", {"sysctl.tcp_sack": "0"}), asked("one", {"sysctl": {"h2": {"tcp_sack": "0"}}})
    )
    one = SysctlChange("h2", "tcp_sack", "1", "0")
    assert watch.take(state(sysctls=(one,))).reached == (1,)
    assert watch.take(state(sysctls=(one, SysctlChange("h1", "tcp_sack", "1", "0")))).done


def test_with_four_pairs_the_algorithm_is_that_of_four_senders() -> None:
    watch = GoalWatch([asked("a", {"hosts.algorithm": "reno"}, pairs=4)])
    watch.take(state(pairs=4))
    three = tuple(reno_on(host) for host in ("h1", "h3", "h5"))
    board = watch.take(state(sysctls=three, pairs=4))
    assert not board.done
    assert board.goals[0].near is not None
    assert (
        board.goals[0].near.text
        == "it is set on h1, h3 and h5 but not yet on h7: every host has its own value"
    )
    assert watch.take(state(sysctls=(*three, reno_on("h7")), pairs=4)).done


def test_on_four_pairs_the_data_leave_s1_by_its_first_port() -> None:
    watch = GoalWatch([asked("a", {"path.delay": "20 ms"}, pairs=4, interface="s1-eth1")])
    watch.take(state(pairs=4))
    wrong = watch.take(state({"reverse_delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)}, pairs=4))
    assert wrong.goals[0].near is not None
    assert wrong.goals[0].near.text.endswith("data leaves s1 through s1-eth1")
    assert watch.take(state({"delay": 0.02}, {"s1-eth1": (netem(delay=0.02),)}, pairs=4)).done


def test_what_is_printed_ticks_nothing_and_goes_with_the_next_change() -> None:
    watch = watching(asked("a", {"path.delay": "20 ms"}))
    watch.take_output("s1", b"Error: Exclusivity flag on, can")
    assert watch.board.printed is None
    board = watch.take_output("s1", b"not modify.\r\ns1:~# ")
    assert board.printed is not None
    assert board.printed.kind == "added-twice"
    assert watch.take_output("h1", b"delay 20ms ticked\r\n" * 10_000).printed == board.printed
    assert watch.take(state(sysctls=(reno_on("h1"),))).printed == board.printed, "told late, of before"
    assert watch.take(DELAYED).printed is None


@pytest.mark.parametrize("data", [b"\xff\xfe" * 70_000, b"\x1b[31m" * 50_000 + b"\n", b"Error" * 100_000])
def test_a_flood_into_the_terminal_is_no_trouble(data: bytes) -> None:
    watch = watching(asked("a", {"path.delay": "20 ms"}))
    assert watch.take_output("s1", data).printed is None


def test_events_that_are_of_no_goal_change_nothing() -> None:
    watch = watching(asked("a", {"flow.bytes": ">= 1 MB"}))
    board = watch.board
    assert watch.take(TerminalOutput(1, b"x")) is board
    watch.take(carried(1.0, 2_000_000))
    assert not watch.board.done, "no run was found"
    watch.take(RunDetected(NOTHING.experiment))
    watch.take(Failed("the lab's interface s1-eth2 is gone", "run"))
    assert not watch.board.done


def test_goals_that_stay_reached_begin_so_the_next_time() -> None:
    goals = [asked("a", {"path.delay": "20 ms"}, stays_ticked=True), asked("b", {"path.rate": "10 Mbit/s"})]
    watch = watching(*goals)
    watch.take(DELAYED)
    assert watch.latched_goals == ("a",)
    again = GoalWatch(goals, reached=watch.latched_goals)
    assert again.board.reached == (0,)
    assert again.take(NOTHING).reached == (0,)
    # One that is left with its state, and one that the page does not have any more, do not.
    assert GoalWatch(goals, reached=("b", "c")).board.reached == ()


def test_a_message_goes_when_a_later_command_mends_it() -> None:
    watch = watching(asked("a", {"flow.bytes": ">= 1 MB"}))
    refused = b"iperf3: error - unable to connect to server: Connection refused\r\n"
    assert watch.take_output("h1", refused).printed is not None
    watch.take(CommandEnded(1, "h1", "iperf3 -c h2", 1))
    watch.take(CommandEnded(1, "h1", "ls", 0))
    assert watch.board.printed is not None
    watch.take(CommandEnded(1, "h1", "h2 iperf3 -s -D", 0))
    assert watch.board.printed is None
    watch.take_output("h1", refused)
    assert watch.board.printed is not None
    watch.take(RunDetected(NOTHING.experiment))
    assert watch.take(carried(0.2, 20_000)).printed is None


def test_eight_seconds_of_iperf3_are_eight_seconds() -> None:
    watch = watching(asked("a", {"run.duration": ">= 8 s"}))
    watch.take(RunDetected(NOTHING.experiment))
    assert not watch.take(carried(7.0, 2_000_000)).done
    # A flow is found once some of it has arrived.
    assert watch.take(carried(7.81, 2_000_000)).done
