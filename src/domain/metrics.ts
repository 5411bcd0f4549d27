/**
 * What a process counts and measures, as data: `/metrics`, `docs/metrics.md` and the Grafana dashboard are made from it. No
 * metric has a label whose values grow with use: members, channels and posts are never labels.
 */
export interface MetricEntry {
  readonly kind: 'counter' | 'gauge';
  readonly help: string;
  readonly labels?: readonly string[];
  /** Where a counter is kept: its name in the process's tally; what the tally calls its label is `labels[0]`. */
  readonly tally?: string;
  /** Panel of the dashboard that it is drawn in, and how. */
  readonly panel: string;
  readonly unit?: 's' | 'short';
}

const defineMetrics = <const T extends Record<string, MetricEntry>>(entries: T): T => entries;

export const metrics = defineMetrics({
  plane3_ready: {
    kind: 'gauge',
    help: '1 while the process does what it is there for: its root says serving, and the lease is certain.',
    panel: 'Serving',
  },
  plane3_lease_held: { kind: 'gauge', help: '1 while the lease of the space is ours.', panel: 'Serving' },
  plane3_outage_seconds: {
    kind: 'gauge',
    help: 'How long the broker has been away; 0 while it is there.',
    panel: 'Broker',
    unit: 's',
  },
  plane3_stall_seconds_total: {
    kind: 'counter',
    help: 'Time that this process did not get to run, by its own late timers.',
    panel: 'Broker',
    unit: 's',
  },
  plane3_owed_entries: {
    kind: 'gauge',
    help: 'Entries that members have not confirmed yet. Absent while the store cannot be asked.',
    panel: 'Owed',
  },
  plane3_owed_oldest_age_seconds: {
    kind: 'gauge',
    help: 'Age of the oldest entry that is owed; 0 where nothing is. Absent while the store cannot be asked.',
    panel: 'Oldest owed',
    unit: 's',
  },
  plane3_posts_total: {
    kind: 'counter',
    help: 'Posts whose copies are stored and which were acknowledged.',
    tally: 'posts.settled',
    panel: 'Flow',
  },
  plane3_copies_stored_total: {
    kind: 'counter',
    help: 'Copies that were stored as pending entries.',
    tally: 'copies.stored',
    panel: 'Flow',
  },
  plane3_copies_handed_off_total: {
    kind: 'counter',
    help: 'Copies that were handed off to members.',
    tally: 'copies.handed-off',
    panel: 'Flow',
  },
  plane3_copies_settled_total: {
    kind: 'counter',
    help: 'Copies that members confirmed or terminated.',
    labels: ['how'],
    tally: 'copies.settled',
    panel: 'Flow',
  },
  plane3_entries_removed_total: {
    kind: 'counter',
    help: 'Entries that were removed because they are settled.',
    tally: 'entries.settled',
    panel: 'Flow',
  },
  plane3_copies_withdrawn_total: {
    kind: 'counter',
    help: 'Copies that were taken back from members: a leave, a narrowed grant.',
    tally: 'copies.withdrawn',
    panel: 'Withdrawn and refused',
  },
  plane3_copies_passed_over_total: {
    kind: 'counter',
    help: 'Copies that their member’s durable never delivers, handed off again.',
    tally: 'copies.passed-over',
    panel: 'Withdrawn and refused',
  },
  plane3_entries_refused_total: {
    kind: 'counter',
    help: 'Entries that their member may not read any more.',
    tally: 'entries.refused',
    panel: 'Withdrawn and refused',
  },
  plane3_entries_retired_total: {
    kind: 'counter',
    help: 'Entries of retired lifecycles that were removed.',
    tally: 'entries.retired',
    panel: 'Withdrawn and refused',
  },
  plane3_copies_refused_total: {
    kind: 'counter',
    help: 'Copies that the broker did not take, by its code.',
    labels: ['code'],
    tally: 'copies.refused',
    panel: 'Withdrawn and refused',
  },
  plane3_copies_over_quota_total: {
    kind: 'counter',
    help: 'Copies that were not made because their member is owed as much as it may be.',
    tally: 'copies.over-quota',
    panel: 'Withdrawn and refused',
  },
  plane3_posts_oversize_total: {
    kind: 'counter',
    help: 'Posts that would not fit the payload limit as copies.',
    tally: 'posts.oversize',
    panel: 'Withdrawn and refused',
  },
  plane3_entries_oversize_total: {
    kind: 'counter',
    help: 'Entries that did not fit the payload limit when they were to be handed off.',
    tally: 'entries.oversize',
    panel: 'Withdrawn and refused',
  },
  plane3_posts_lost_total: {
    kind: 'counter',
    help: 'Posts that retention discarded before they were copied.',
    tally: 'posts.skipped',
    panel: 'Lost and foreign',
  },
  plane3_posts_poison_total: {
    kind: 'counter',
    help: 'Messages on chat subjects that are no posts, by what is wrong.',
    labels: ['why'],
    tally: 'posts.poison',
    panel: 'Lost and foreign',
  },
  plane3_entries_foreign_total: {
    kind: 'counter',
    help: 'Messages in the stores that are none of ours, by what is wrong.',
    labels: ['why'],
    tally: 'entries.foreign',
    panel: 'Lost and foreign',
  },
  plane3_mentions_missed_total: {
    kind: 'counter',
    help: 'Mentions that reached nobody, by why.',
    labels: ['why'],
    tally: 'mentions.missed',
    panel: 'Lost and foreign',
  },
  plane3_lanes_placed_total: {
    kind: 'counter',
    help: 'Lanes that found their place: kept from when the lane rested, counted with others at the start, or read from the store.',
    labels: ['how'],
    tally: 'lanes.placed',
    panel: 'Flow',
  },
  plane3_lanes_given_up_total: {
    kind: 'counter',
    help: 'Lanes of members without an ACL row that were given up; what is owed is kept.',
    tally: 'lanes.given-up',
    panel: 'Lost and foreign',
  },
  plane3_rail_requests_total: {
    kind: 'counter',
    help: 'Requests on the control rails.',
    labels: ['rail'],
    tally: 'rails.requests',
    panel: 'Rails',
  },
  plane3_rail_dropped_total: {
    kind: 'counter',
    help: 'Requests whose reply subject lies outside their own subtree.',
    labels: ['rail'],
    tally: 'rails.dropped',
    panel: 'Rails',
  },
  plane3_actors: {
    kind: 'gauge',
    help: 'Actors that live, by machine and by the state they are in.',
    labels: ['machine', 'state'],
    panel: 'Actors',
  },
  plane3_machine_transitions_total: {
    kind: 'counter',
    help: 'Steps that machines took.',
    labels: ['machine'],
    panel: 'Machines',
  },
  plane3_other_total: {
    kind: 'counter',
    help: 'Whatever else is counted, by its name in the tally.',
    labels: ['name'],
    panel: 'Other',
  },
});

export type MetricName = keyof typeof metrics;

/** Metric of a count of the tally, with its label; what nobody has named is `plane3_other_total`. */
export function metricOf(count: string): { name: MetricName; labels: Record<string, string> } {
  const [, tally = count, value] = /^([^{]*)\{(.*)\}$/.exec(count) ?? [];
  for (const [name, entry] of Object.entries<MetricEntry>(metrics)) {
    if (entry.tally !== tally) continue;
    const [label] = entry.labels ?? [];
    return { name: name as MetricName, labels: label === undefined ? {} : { [label]: value ?? '' } };
  }
  return { name: 'plane3_other_total', labels: { name: count } };
}
