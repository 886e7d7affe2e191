"""Tests that only `pytest --full` runs, with the reason for each.

A plain run is the same set every time: every test that is not listed here, and of a listed test the parameters that
match `plain`. Who names a test gets it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

import pytest

UNMATCHED = pytest.StashKey[list[str]]()
"""Names and patterns of the table that matched no test of this run's files."""


class FullOnly(NamedTuple):
    """A test that a plain run leaves out, in whole or in part."""

    reason: str
    plain: tuple[str, ...] = ()
    """Patterns of the parameter ids that a plain run takes all the same; none when empty."""


_LAW = "a minute or two of one processor for the loss law; a plain run checks it once, with the design's own command"
_BOOT = "boots a guest of its own, half a minute"
_CLUSTER = "starts a Dask cluster of its own, ten seconds of a processor"
_HOSTS = "the host's kernel measures the same as root and in a user namespace, both tried by other tests"
_SESSIONS = "a shell on the real clock, the same code on a host and in the guest"
_STREAMS = "the same program sends on a host, seconds in which no other lab may run; other tests send there"
_SUBMISSIONS = "five submissions for each of four systems; a graded one and one of the others for each"
_SCREENS = "two sizes of the screen; one of them, and home and a lesson in both"
_UNPACKED = "several ways in which a small file becomes a large one; one of each kind"
_SIZES = "starts the app and waits after each key; each size once"
_DAMAGE = "every kind of damage is read in one file of each reader"

FULL_ONLY = {
    "tests/analysis/test_audit.py::test_explanations_of_generated_runs_are_true": FullOnly(
        "two thousand runs, each explained and audited; a hundred have every kind", ("0",)
    ),
    (
        "tests/backends/test_building.py::test_a_hanging_boot_is_retried_before_a_fallback"
    ): FullOnly("three ways of one loop; the one with fewer boots says no more", ("2-True", "3-False")),
    "tests/backends/test_building.py::test_a_snapshot_is_built_once": FullOnly(
        f"{_BOOT}; test_an_image_is_built_once has the same kill and wait, tests/install/test_setup.py the snapshot"
    ),
    "tests/backends/test_building.py::test_another_snapshot_of_the_same_gives_the_same_runs": FullOnly(_BOOT),
    "tests/backends/test_by_hand.py::test_the_lines_of_a_page_reach_its_goals": FullOnly(
        "sends for some seconds per goal on the real clock, half a minute a page; tests/cli/test_goals.py works on a"
        " page from its beginning to its record, in a plain run as well"
    ),
    "tests/backends/test_causes.py::test_the_verdict_names_the_cause": FullOnly(
        "27 experiments; four kinds of cause, and tests/analysis explains recordings of the others",
        ("a-small-receive-window", "a-full-bottleneck", "a-rate-that-falls", "timeouts-by-heavy-loss"),
    ),
    "tests/backends/test_coarse_clock.py::test_a_clock_that_moves_in_ticks": FullOnly(_BOOT),
    "tests/backends/test_conditions.py::test_a_firewall_rule_drops_at_the_receiver": FullOnly(
        "three seconds of a guest; a plain run drops at random in the path"
    ),
    "tests/backends/test_conditions.py::test_jitter_spreads_the_rtt_by_its_distribution": FullOnly(
        "four distributions of one netem option", ("pareto",)
    ),
    "tests/backends/test_conditions.py::test_a_threshold_marks_early_and_keeps_the_queue_short": FullOnly(
        "two runs for each of two disciplines that take it", ("codel",)
    ),
    "tests/backends/test_conditions.py::test_losses_of_the_reverse_path": FullOnly(
        "three seconds of a guest; its rate and delay are in a plain run"
    ),
    "tests/backends/test_conditions.py::test_queue_disciplines_keep_the_link_full": FullOnly(
        "five disciplines by one path; two, and CoDel where a full queue marks", ("cake", "red")
    ),
    "tests/backends/test_conditions.py::test_the_receive_window_has_the_requested_size": FullOnly(
        "three sizes of one setting", ("24",)
    ),
    "tests/backends/test_conditions.py::test_udp_runs_next_to_tcp": FullOnly(
        "three seconds of a guest; UDP alone and UDP in a run with every table are in a plain run"
    ),
    "tests/backends/test_conditions.py::test_with_ecn_a_full_queue_marks_and_does_not_drop": FullOnly(
        "every queue discipline fills a link in another test; one that marks", ("codel",)
    ),
    "tests/backends/test_fidelity.py::test_a_bucket_of_one_frame_keeps_a_rate_of_many": FullOnly(
        "a bucket too small for a frame is tried in a plain run"
    ),
    "tests/backends/test_fidelity.py::test_a_processor_that_cannot_follow": FullOnly(
        "seven seconds of a guest that is overloaded"
    ),
    "tests/backends/test_fidelity.py::test_a_trace_that_loses_acks": FullOnly(
        "a minute and a half of one processor, more than the other faults together"
    ),
    "tests/backends/test_fidelity.py::test_small_segments_have_room_in_netem": FullOnly(
        "a quarter of a minute of one processor"
    ),
    "tests/backends/test_goals.py::test_each_near_miss_is_explained_when_it_is_made": FullOnly(
        "types forty slips into a guest, some seconds each; a plain run reads recordings of them"
    ),
    "tests/backends/test_goals.py::test_goals_tick_and_untick_with_the_kernel": FullOnly(
        "eight seconds by hand; tests/cli/test_goals.py reaches the goals of a page in a plain run"
    ),
    "tests/backends/test_guest.py::test_a_qemu_that_cannot_run_exactly_runs_all_the_same": FullOnly(
        f"{_BOOT}; that another way is taken is in tests/backends/test_building.py"
    ),
    "tests/backends/test_guest.py::test_algorithms_of_the_lessons_fill_a_link": FullOnly(
        "the others run in tests of their own", ("htcp",)
    ),
    "tests/backends/test_guest.py::test_eight_lossy_flows_carry_eight_times_one": FullOnly(_LAW),
    "tests/backends/test_guest.py::test_one_reno_flow_follows_mathis_and_the_path_takes_its_delay": FullOnly(_LAW),
    "tests/backends/test_guest.py::test_runs_are_identical_until_a_setting_changes": FullOnly(
        "two runs for each of five changes", ("rate=5 Mbit/s",)
    ),
    "tests/backends/test_host.py::test_a_killed_part_ends_the_run_with_one_line": FullOnly(
        "three kinds of kill in two kinds of host; the agent once, iperf3 once",
        ("as it is-tcptutor.agent.agent-0", "as it is-iperf3*"),
    ),
    "tests/backends/test_host.py::test_a_shaped_link_carries_its_goodput_and_is_sampled_twenty_times_a_second": (
        FullOnly(_HOSTS, ("as it is",))
    ),
    "tests/backends/test_host.py::test_datagrams_that_are_seen_late_are_measured": FullOnly(_HOSTS, ("as it is",)),
    "tests/backends/test_host.py::test_larger_packets_are_larger_segments": FullOnly(_HOSTS, ("as it is",)),
    "tests/backends/test_host.py::test_leaving_a_run_early_leaves_nothing_and_the_next_one_works": FullOnly(
        _HOSTS, ("user namespace",)
    ),
    "tests/backends/test_host.py::test_missing_kernel_features_are_named": FullOnly(_HOSTS, ("user namespace",)),
    "tests/backends/test_host.py::test_missing_samples_are_reported": FullOnly(_HOSTS, ("as it is",)),
    "tests/backends/test_host.py::test_pacing_by_the_application_bounds_the_flow": FullOnly(
        "four seconds in which no other lab may run; the guest paces in a plain run"
    ),
    "tests/backends/test_host.py::test_the_machines_own_network_is_left_alone": FullOnly(_HOSTS, ("user namespace",)),
    "tests/backends/test_host.py::test_the_receive_window_is_the_one_asked_for": FullOnly(_HOSTS, ("user namespace",)),
    "tests/backends/test_host.py::test_two_labs_at_once_do_not_disturb_each_other": FullOnly(_HOSTS, ("as it is",)),
    "tests/backends/test_limits.py::test_a_larger_guest_has_memory_for_the_published_path": FullOnly(_BOOT),
    "tests/backends/test_limits.py::test_a_slow_link_carries_its_rate_and_no_more": FullOnly(
        "three slow rates; the slowest", ("20000.0",)
    ),
    "tests/backends/test_limits.py::test_what_the_bounds_allow_runs": FullOnly(
        "four settings at their bounds; one run", ("many UDP flows",)
    ),
    "tests/backends/test_session.py::test_a_changed_sysctl_is_reported_until_restored": FullOnly(
        _SESSIONS, ("host",)
    ),
    "tests/backends/test_session.py::test_a_session_has_the_experiments_window_and_outlives_its_queue": FullOnly(
        _SESSIONS
    ),
    "tests/backends/test_session.py::test_a_session_that_is_left_keeps_the_run_that_goes_on": FullOnly(
        _SESSIONS, ("guest",)
    ),
    "tests/backends/test_session.py::test_a_terminal_has_a_size_and_job_control": FullOnly(_SESSIONS, ("guest",)),
    "tests/backends/test_session.py::test_fq_by_hand_is_pacing": FullOnly(_SESSIONS),
    "tests/backends/test_session.py::test_names_a_home_and_tcpdump": FullOnly(_SESSIONS),
    "tests/backends/test_session.py::test_settings_changed_by_hand_are_seen": FullOnly(_SESSIONS, ("guest",)),
    "tests/backends/test_session.py::test_traffic_by_hand_is_recorded_as_a_run": FullOnly(
        _SESSIONS, ("host",)
    ),
    "tests/backends/test_session.py::test_udp_by_hand_is_a_run_of_its_own": FullOnly(_SESSIONS),
    "tests/backends/test_session_tells.py::test_a_dead_lab_is_reported_and_the_next_is_fresh": FullOnly(
        "a program that starts itself without end takes a processor for half a minute; one that kills the lab's agent",
        ("kill -9 -1-*",),
    ),
    "tests/backends/test_session_tells.py::test_a_flood_a_full_disk_and_a_memory_hog_leave_the_lab_usable": FullOnly(
        "three misuses on the real clock; the app's terminal is flooded in a plain run"
    ),
    "tests/backends/test_session_tells.py::test_reverse_path_changes_are_reported_during_a_flow": FullOnly(_SESSIONS),
    "tests/backends/test_sockets.py::test_late_segments_are_retransmitted": FullOnly(
        "two ways to be late", ("asked0",)
    ),
    "tests/backends/test_streams.py::test_a_connection_that_the_kernel_gives_up": FullOnly(
        "waits up to 20 s of real time on a host", ("guest-0.5-20",)
    ),
    "tests/backends/test_streams.py::test_a_fixed_amount_is_sent_to_the_byte": FullOnly(
        "three amounts on a host and in the guest", ("host-131071", "guest-1000")
    ),
    "tests/backends/test_streams.py::test_a_receiver_that_cannot_be_reached": FullOnly(_STREAMS, ("guest",)),
    "tests/backends/test_streams.py::test_both_directions_and_a_later_start": FullOnly(
        "tests/backends/test_conditions.py sends in both directions and starts flows later in a plain run"
    ),
    "tests/backends/test_streams.py::test_dctcp_answers_marks_and_loses_nothing": FullOnly(
        "two disciplines that mark", ("codel",)
    ),
    "tests/backends/test_streams.py::test_flows_of_other_lengths_buffers_and_segments": FullOnly(
        _STREAMS, ("guest",)
    ),
    "tests/backends/test_traps.py::test_only_the_fix_of_a_fault_ticks_the_goals": FullOnly(
        "finds and fixes a fault by hand on the real clock, ten seconds and more each"
    ),
    "tests/backends/test_workloads.py::test_an_application_writes_and_pauses": FullOnly(
        "three seconds of a guest; requests, which pause too, are in a plain run"
    ),
    "tests/cli/test_new_course.py::test_the_claims_of_the_example_hold": FullOnly(
        "24 runs, half a minute; a plain run lints its texts"
    ),
    "tests/cli/test_grading.py::test_runs_are_made_again_and_compared": FullOnly(
        "ten seconds; tests/grading/test_rerun.py makes a run again in a plain run"
    ),
    "tests/cli/test_lab.py::test_a_run_on_the_real_clock_is_not_called_repeatable": FullOnly(_BOOT),
    "tests/cli/test_lint.py::test_a_damaged_run_is_made_again": FullOnly(
        "starts the command twice, with a guest each"
    ),
    "tests/cli/test_lint.py::test_an_author_asks_for_more_seeds_than_a_claim_does": FullOnly(
        "starts the command and a guest once more"
    ),
    "tests/cli/test_lint.py::test_another_setting_is_another_run": FullOnly(
        "starts the command twice, with a guest each"
    ),
    "tests/cli/test_nothing_arrives.py::test_a_run_of_0_bytes_is_kept_and_explained": FullOnly(
        "three runs by hand, ten seconds; tests/backends/test_fidelity.py has such a bucket in a plain run"
    ),
    "tests/cli/test_output.py::test_colours_are_there_when_asked_for_and_never_in_a_pipe": FullOnly(
        "four commands; the one that runs an experiment only here", ("words0", "words1", "words2")
    ),
    "tests/cli/test_run.py::test_a_stopped_run_keeps_its_samples": FullOnly(
        "three signals of one handler", ("2",)
    ),
    "tests/cli/test_run.py::test_parameters_change_the_limit": FullOnly(
        "six starts of the command and of a guest; tests/backends runs and explains the same settings",
        ("changed1-*",),
    ),
    "tests/cli/test_run.py::test_the_design_s_command_works": FullOnly(
        "half a minute of one processor as printed; a plain run shortens it", ("shorter",)
    ),
    "tests/course/test_claims_in_lab.py::test_the_claims_of_a_page_hold_in_the_lab": FullOnly(
        "half an hour of guests for all pages; tests/cli/test_lint.py runs the claims of a small page in a plain run"
    ),
    "tests/exchange/test_hostile.py::test_a_small_file_never_takes_much": FullOnly(
        _UNPACKED, ("spaces", "brackets", "nested", "texts", "many *")
    ),
    "tests/extremes/test_extremes.py::test_extreme_runs_are_described_truthfully": FullOnly(
        "some seconds of a guest each; `python -m tests.extremes` draws more", ("rate", "loss")
    ),
    "tests/faults/test_app_at_odd_ends.py::test_the_app_runs_and_reports_unsaved_work": FullOnly(
        "starts the app in eleven surroundings; one of each kind",
        ("TERM dumb", "cache in a device", "data in a device", "no home"),
    ),
    "tests/faults/test_damaged.py::test_commands_survive_a_damaged_journal": FullOnly(
        "three commands on each of six damaged journals; each damage once, each command twice",
        ("text-*", "flipped bits-*", "*-runs"),
    ),
    "tests/faults/test_early.py::test_a_signal_in_the_first_second": FullOnly(
        "eleven moments of each signal; one before Python is ready, while it imports, and after",
        ("0.02-15", "0.2-1", "0.6-2"),
    ),
    "tests/faults/test_ends.py::test_a_locked_journal_delays_a_command_by_seconds": FullOnly(
        "waits ten seconds; one command in a plain run", ("wal-words1",)
    ),
    "tests/faults/test_ends.py::test_commands_end_in_one_line_with_the_right_exit_code": FullOnly(
        "every command in each of 47 odd surroundings; one of each kind",
        (
            "all closed", "both readers gone", "HOME unset", "HOME unwritable", "umask 777",
            "ASCII, strict", "PATH empty",
        ),
    ),
    "tests/faults/test_killed.py::test_a_run_killed_at_a_random_moment": FullOnly(
        "forty kills, each with two starts of a lab; one of each backend", ("host-0", "guest-1")
    ),
    "tests/faults/test_killed.py::test_the_app_killed_at_a_random_moment": FullOnly(
        "starts the app twice each; tests/terminal/test_walk.py closes its terminal in a plain run"
    ),
    "tests/faults/test_together.py::test_two_commands_at_once": FullOnly(
        "two commands in either backend, two users in the other", ("guest",)
    ),
    "tests/faults/test_together.py::test_two_users_at_once": FullOnly(
        "two users in either backend, two commands in the other", ("host",)
    ),
    "tests/faults/test_unwritable.py::test_a_command_that_cannot_save_ends_with_1": FullOnly(
        "six commands by three reasons; each command on a full disk, each reason once", ("*-full", "run-*")
    ),
    "tests/fuzz/test_fuzz.py::test_forbidden_behavior_of_a_reader_is_detected": FullOnly(
        "waits out a reader that sleeps; one that spins is in a plain run",
        ("raise *", "while *", "bytearray*", "path*"),
    ),
    "tests/fuzz/test_fuzz.py::test_readers_accept_or_refuse_mutated_files": FullOnly(
        "two hundred files for each reader, twenty in a plain run; `python -m tests.fuzz` takes others", ("*-0",)
    ),
    "tests/grading/test_batch.py::test_a_cluster_grades_as_this_machine_does": FullOnly(_CLUSTER),
    "tests/grading/test_batch.py::test_a_worker_reads_lessons_again_that_were_edited": FullOnly(_CLUSTER),
    "tests/grading/test_integrations.py::test_classroom50": FullOnly(_SUBMISSIONS, ("full", "absent")),
    "tests/grading/test_integrations.py::test_classroom50_gives_nothing_for_the_file_of_another_student": FullOnly(
        "the same check as Gradescope's, which a plain run tries"
    ),
    "tests/grading/test_integrations.py::test_classroom50_installs_the_package_that_lies_beside": FullOnly(
        "creates a virtual environment; that of Gradescope is created in a plain run"
    ),
    "tests/grading/test_integrations.py::test_github_counts_the_modules_of_the_assignment": FullOnly(
        "a right and a wrong list of modules; Gradescope has a wrong one in a plain run", ("small",)
    ),
    "tests/grading/test_integrations.py::test_gradescope": FullOnly(_SUBMISSIONS, ("full", "damaged")),
    "tests/grading/test_integrations.py::test_prairielearn": FullOnly(_SUBMISSIONS, ("full", "nothing done")),
    "tests/grading/test_rerun.py::test_a_cluster_makes_runs_again": FullOnly(_CLUSTER),
    "tests/grading/test_versions.py::test_the_workers_of_a_cluster_grade_each_hand_in_by_its_own_version": FullOnly(
        _CLUSTER
    ),
    "tests/install/test_damaged_cache.py::test_a_damaged_file_is_reported": FullOnly(_DAMAGE, ("*-image/base.cpio",)),
    "tests/install/test_damaged_cache.py::test_a_damaged_manifest_is_reported": FullOnly(
        _DAMAGE, ("*-image/image.json", "empty-virtual.json", "a FIFO-virtual.json")
    ),
    "tests/install/test_damaged_cache.py::test_a_malformed_manifest_is_reported": FullOnly(
        _DAMAGE, ("*-virtual.json", "null-image/image.json", "half-image/image.json")
    ),
    "tests/install/test_remedies.py::test_debian_has_the_packages": FullOnly(
        "asks Debian's package lists for every package, ten seconds"
    ),
    "tests/install/test_setup.py::test_an_end_while_the_guest_boots_leaves_nothing": FullOnly(
        "three signals of one handler", ("15",)
    ),
    "tests/install/test_setup.py::test_half_built_is_replaced_and_a_second_setup_waits": FullOnly(
        "builds parts of the guest twice, half a minute; every build machine runs `tcptutor setup` itself"
    ),
    "tests/packaging/test_start.py::test_without_what_plots_need_it_goes_on": FullOnly(
        "creates a virtual environment, as two other tests of the script do"
    ),
    "tests/plain/test_shell.py::test_a_page_by_hand_at_a_pipe": FullOnly(
        "a shell on the real clock, half a minute; tests/cli/test_goals.py works on a page in a plain run"
    ),
    "tests/plain/test_walk.py::test_the_dialogue_earns_the_marks_of_the_app": FullOnly(
        "a hundred pages with their recorded runs, minutes; some pages have every kind of activity", ("some-pages",)
    ),
    "tests/packaging/test_container.py::test_the_image_has_a_lab_and_makes_a_run": FullOnly(
        "installs Debian, builds an image and boots a guest in it, some minutes; a plain run compares its packages"
    ),
    "tests/packaging/test_course_machine.py::test_a_course_on_a_machine_of_its_own": FullOnly(
        "installs Debian, boots it under emulation, some minutes; a plain run reads its scripts and lists"
    ),
    "tests/packaging/test_user_installs.py::test_pipx_installs_it_and_setup_makes_a_first_run_possible": FullOnly(
        "builds a guest, some minutes; a plain run installs the wheel with uv"
    ),
    "tests/room/test_check.py::test_runs_of_the_guest_are_kept_and_not_made_again": FullOnly(_BOOT),
    "tests/room/test_flows.py::test_each_student_gets_what_the_lab_measured": FullOnly(
        "some seconds of a guest; a plain run follows made events, and tests/backends runs several algorithms"
    ),
    "tests/run/test_check.py::test_a_small_file_never_takes_much": FullOnly(
        _UNPACKED, ("samples", "zeros", "empty lines", "brackets", "nested", "one text")
    ),
    "tests/serve/test_command.py::test_a_class_is_enrolled_and_its_work_collected": FullOnly(
        "four commands, five seconds of a processor; the commands have tests of their own"
    ),
    "tests/serve/test_command.py::test_a_restarted_server_knows_its_students": FullOnly(
        "starts the server twice; tests/serve/test_students.py reads its logins again, and another test starts it once"
    ),
    "tests/serve/test_pages.py::test_a_second_window_takes_over_and_a_link_is_used_up": FullOnly(
        "a browser of its own; tests/serve/test_server.py does the same without one"
    ),
    (
        "tests/serve/test_in_browser.py::"
        "test_a_student_predicts_runs_and_sees_the_chart_through_a_proxy_and_a_lost_line"
    ): FullOnly("a browser, a proxy and a whole sitting; a plain run has each for itself"),
    "tests/sweep/test_cluster.py::test_a_worker_without_tcptutor_says_so": FullOnly(_CLUSTER),
    "tests/sweep/test_cluster.py::test_a_worker_without_the_guest_says_so_for_its_cells": FullOnly(_CLUSTER),
    "tests/sweep/test_cluster.py::test_the_workers_guests_end_with_a_killed_command": FullOnly(_CLUSTER),
    "tests/sweep/test_cluster.py::test_no_scheduler_at_the_address": FullOnly(
        "waits for an address that nobody has, and for one where nobody answers", ("tcp://127.0.0.1:1",)
    ),
    "tests/sweep/test_run.py::test_a_second_sweep_into_the_same_file_is_refused": FullOnly(
        "starts the command and guests twice"
    ),
    "tests/sweep/test_run.py::test_a_signal_ends_every_guest_and_keeps_finished_cells": FullOnly(
        "two signals of one handler", ("2",)
    ),
    "tests/sweep/test_run.py::test_seeds_for_a_person": FullOnly(
        "starts the command and two guests; the same runs as JSON in another test"
    ),
    "tests/sweep/test_run.py::test_the_bar_is_there_on_a_terminal": FullOnly(
        "starts the command and two guests for its progress bar"
    ),
    "tests/terminal/test_cursor.py::test_a_step_sends_what_changes": FullOnly(_SIZES, ("80x24",)),
    "tests/terminal/test_cursor.py::test_a_zoom_and_the_way_back_send_less_than_the_chart_itself": FullOnly(
        "starts the app and waits after each key; a step of the cursor does so in a plain run"
    ),
    "tests/terminal/test_lecture.py::test_a_line_that_drops_three_times_costs_nothing": FullOnly(
        "a lecture with live runs in the guest takes a minute; a plain run gives it with recordings", ("replay",)
    ),
    "tests/terminal/test_own_course.py::test_a_preview_follows_the_files_and_leaves_no_trace": FullOnly(
        "ten seconds; tests/ui/test_preview.py follows files in a plain run"
    ),
    "tests/terminal/test_own_course.py::test_a_student_changes_between_two_courses": FullOnly(
        "starts the app three times; tests/ui/test_course_switch.py changes in a plain run"
    ),
    "tests/terminal/test_pane.py::test_a_flow_by_hand_is_drawn_and_survives_the_terminal": FullOnly(
        "starts the app and a guest; a shell in it and a terminal that closes are in a plain run"
    ),
    "tests/terminal/test_session.py::test_a_session_of_review_learning_and_looking_back": FullOnly(
        "half a minute of one student's keys; tests/ui opens each of the screens in a plain run"
    ),
    "tests/terminal/test_terminals.py::test_a_chart_on_a_slow_line_leaves_room_for_keys": FullOnly(
        "follows a run for half a minute; tests/ui/test_line_meter.py has the arithmetic in a plain run"
    ),
    "tests/terminal/test_terminals.py::test_a_page_is_read_predicted_run_and_explained": FullOnly(
        "walks through a page in twelve terminals, ten seconds each; the poorest and the smallest in a plain run",
        ("LANG=C", "40x12"),
    ),
    "tests/terminal/test_walk.py::test_a_terminal_that_goes_away_while_the_app_is_leaving": FullOnly(
        "four moments of one end, each with a start of the app and of a guest; a terminal closes in a plain run"
    ),
    "tests/terminal/test_walk.py::test_a_terminal_that_nobody_reads_does_not_keep_the_app": FullOnly(
        "waits for the app to give up writing, five seconds"
    ),
    "tests/terminal/test_walk.py::test_a_terminal_too_small_says_so_until_it_is_larger": FullOnly(
        "starts the app and resizes its terminal; tests/ui/test_layout.py does so in a plain run"
    ),
    "tests/ui/test_check.py::test_tab_goes_through_the_open_questions_each_whole_on_the_screen": FullOnly(
        _SCREENS, ("*80*",)
    ),
    "tests/ui/test_snapshots.py::test_a_finished_sweep": FullOnly(_SCREENS, ("120x36",)),
    "tests/ui/test_snapshots.py::test_a_prediction_of_a_shape": FullOnly(_SCREENS, ("80x24",)),
    "tests/ui/test_snapshots.py::test_an_order_and_a_value_that_was_read_off": FullOnly(_SCREENS, ("80x24",)),
    "tests/ui/test_snapshots.py::test_eight_flows_and_their_mean": FullOnly(_SCREENS, ("120x36",)),
    "tests/ui/test_snapshots.py::test_home_with_four_modules": FullOnly(_SCREENS, ("80x24",)),
    "tests/ui/test_snapshots.py::test_the_bench_before_a_run": FullOnly(_SCREENS, ("120x36",)),
    "tests/ui/test_snapshots.py::test_the_bench_with_a_run_beside_settings_that_cannot_be_run": FullOnly(
        _SCREENS, ("80x24",)
    ),
    "tests/ui/test_what_if.py::test_asked_and_told": FullOnly(_SCREENS, ("80x24",)),
    "tests/ui/test_what_if.py::test_the_question": FullOnly(_SCREENS, ("120x36",)),
    "tests/ui/test_what_if.py::test_the_same_history_and_another_future": FullOnly(_SCREENS, ("80x24",)),
    "tests/validation/test_validation.py::test_a_few_cells_agree_with_their_models_and_with_the_kept_ones": FullOnly(
        _LAW
    ),
    "tests/validation/test_validation.py::test_drawn_experiments_are_as_expected": FullOnly(
        "the page states how many of all files are within; its test computes them again, and one file has the goals",
        ("drawn-single-1.*",),
    ),
    "tests/validation/test_validation.py::test_the_kept_simulations_come_out_again": FullOnly(
        "a minute of arithmetic without chance; each law and algorithm once", ("* 0.01 0.0301",)
    ),
    "tests/validation/test_validation.py::test_the_page_says_what_the_results_say": FullOnly(
        "computes every number of the page again, eight seconds; `python -m tests.validation report` writes it"
    ),
}  # fmt: skip
"""By the test's name, without its parameters."""


def plain(nodeid: str) -> bool:
    """Whether a plain run takes the test with this id."""
    name, _, parameters = nodeid.partition("[")
    listed = FULL_ONLY.get(name)
    return listed is None or any(fnmatchcase(parameters.removesuffix("]"), each) for each in listed.plain)


def unmatched(nodeids: Iterable[str]) -> list[str]:
    """Names and patterns of the table that match none of `nodeids`, which are those of whole files."""
    ids = [nodeid.partition("[") for nodeid in nodeids]
    files = {name.partition("::")[0] for name, _, _ in ids}
    found = []
    for name, listed in FULL_ONLY.items():
        if name.partition("::")[0] in files:
            parameters = [rest.removesuffix("]") for other, _, rest in ids if other == name]
            found += [] if parameters else [name]
            found += [
                f"{name}[{each}]"
                for each in listed.plain
                if not any(fnmatchcase(one, each) for one in parameters)
            ]
    return found
