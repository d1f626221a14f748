import { quantile } from '../../../test/bench/runner/statistics.ts';
import type { Claims } from './claims.ts';
import type { Failover } from './failover.ts';
import type { Handover } from './handover.ts';
import type { RosterCost } from './roster.ts';
import type { TwoOwners } from './two-owners.ts';

export interface Results {
  readonly failovers: readonly Failover[];
  /** Without BFD: UDP 3784 is dropped. */
  readonly blocked: readonly Failover[];
  readonly handovers: readonly Handover[];
  readonly twoOwners?: TwoOwners;
  readonly claims?: Claims;
  readonly rosters: readonly RosterCost[];
  /** Why a contender was not measured. */
  readonly missing: readonly string[];
}

/** A measured value that has to stay below a bound. */
export interface Judged {
  readonly what: string;
  readonly value: number;
  readonly bound: number;
  readonly unit: string;
  readonly load: number;
}

/** Returns every value that has a bound. */
export function judge({ failovers, blocked, handovers, twoOwners, claims, rosters }: Results): Judged[] {
  const judged: Judged[] = [];
  const add = (what: string, value: number, bound: number, unit: string, load: number): void =>
    void judged.push({ what, value, bound, unit, load });
  for (const { fault, times, never, load } of failovers.filter(({ contender }) => contender === 'Herald')) {
    add(`owner ${fault}: p50`, quantile(times, 0.5), 250, 'ms', load);
    add(`owner ${fault}: p99`, never > 0 ? Infinity : quantile(times, 0.99), 500, 'ms', load);
  }
  for (const { fault, times, never, load } of blocked)
    add(`owner ${fault}, BFD blocked: longest`, never > 0 ? Infinity : (times.at(-1) ?? Number.NaN), 3_000, 'ms', load);
  for (const { what, lost, load } of handovers) add(`${what}: lost requests`, lost, 1, '', load);
  if (twoOwners !== undefined)
    add(`two owners for one client, ${twoOwners.changes} changes: longest`, twoOwners.longest, 1_000, 'ms', twoOwners.load);
  if (claims !== undefined) {
    add(`${claims.addresses} addresses claimed: median`, quantile(claims.wall, 0.5), 1_000, 'ms', claims.load);
    add(`${claims.addresses} addresses claimed: processor time, median`, quantile(claims.cpu, 0.5), 500, 'ms', claims.load);
    add(`one ARP request answered, ${claims.addresses} held: p50`, quantile(claims.answers, 0.5), 1_000, 'us', claims.load);
  }
  const [few, many] = [rosters[0], rosters.at(-1)];
  if (few !== undefined && many !== undefined && few !== many) {
    const compare = (what: string, unit: string, valueOf: (cost: RosterCost) => number, slack: number): void =>
      add(`${many.nodes} nodes: ${what}`, valueOf(many), valueOf(few) * 1.5 + slack, unit, many.load);
    compare(`plan ${many.addresses} Services`, 'ms', ({ all }) => all, 20);
    compare('plan one of them again', 'us', ({ one }) => one, 20);
    compare('take a report, and plan one again', 'us', ({ afterReport }) => afterReport, 20);
    compare('processor time of the agent in a second', 'ms', ({ cpu }) => cpu, 5);
    compare('memory of the agent', 'MB', ({ memory }) => memory, 0);
  }
  return judged;
}

/** Writes the tables. */
export function tables(results: Results): string {
  return [failoverTable(results), boundTable(judge(results)), rosterTable(results), ...results.missing].filter(Boolean).join('\n\n');
}

function failoverTable({ failovers, blocked }: Results): string {
  const rows = [...failovers, ...blocked.map((one) => ({ ...one, contender: `${one.contender}, BFD blocked` }))];
  if (rows.length === 0) return '';
  return table(
    ['owner', 'program', 'times', 'least, ms', 'p50, ms', 'p99, ms', 'most, ms', 'load'],
    rows.map(({ contender, fault, times, never, load }) => [
      fault,
      contender,
      never === 0 ? `${times.length}` : `${times.length}, and ${never} without an answer in 30 s`,
      ...[times[0] ?? Number.NaN, quantile(times, 0.5), quantile(times, 0.99), times.at(-1) ?? Number.NaN].map((time) => time.toFixed(0)),
      load.toFixed(1),
    ]),
  );
}

function boundTable(judged: readonly Judged[]): string {
  if (judged.length === 0) return '';
  return table(
    ['measured', 'value', 'bound', 'load', ''],
    judged.map(({ what, value, bound, unit, load }) => [
      what,
      `${rounded(value)} ${unit}`.trim(),
      unit === '' ? 'none' : `< ${rounded(bound)} ${unit}`,
      load.toFixed(1),
      value < bound ? 'met' : 'missed',
    ]),
  );
}

function rosterTable({ rosters }: Results): string {
  if (rosters.length === 0) return '';
  return table(
    ['nodes', 'Services', 'plan all, ms', 'plan one again, us', 'report and plan, us', 'agent, ms of CPU in 1 s', 'memory, MB', 'load'],
    rosters.map(({ nodes, addresses, all, one, afterReport, cpu, memory, load }) => [
      String(nodes),
      String(addresses),
      ...[all, one, afterReport, cpu, memory, load].map(rounded),
    ]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const rounded = (value: number): string => (value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1));
