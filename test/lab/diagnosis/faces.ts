import { text } from 'node:stream/consumers';
import process from 'node:process';
import { explainServiceCommand } from '../../../src/cli/commands/explain-service.ts';
import type { ServiceExplanation } from '../../../src/explain/service/service.ts';
import type { HistoryEntry, Page } from '../../../src/live/contract.ts';
import { requestLocal } from '../../../src/system/http/local-socket.ts';
import { inProcess } from '../../unit/cli/in-process.ts';
import { samplesOf } from '../../unit/telemetry/scrape.ts';
import type { Scene } from './misconfiguration.ts';

/** An explanation as a script reads it. */
export type Explained = ServiceExplanation & { readonly verdict: Verdict };

export interface Verdict {
  readonly outcome: 'served' | 'announced' | 'partly' | 'notServed' | 'unknown';
  readonly line: string;
  readonly code?: string;
}

/** True when no problem is known: connections were answered, or the Service is announced and none was seen. */
export const isSound = ({ verdict: { outcome } }: Explained): boolean => outcome === 'served' || outcome === 'announced';

/** A row of `herald status --problems`. */
export interface Problem {
  readonly object: string;
  readonly code: string;
  readonly line: string;
  /** Other objects with the same code and line. */
  readonly others?: readonly string[];
}

export const explain = (scene: Scene, service: string): Promise<Explained> => explained(explainWords(scene, service));
export const firstLine = (scene: Scene, service: string): Promise<string> => firstLineOf(explainWords(scene, service));

/** Returns the explanation that `herald explain service` gives for these words. */
export async function explained(words: readonly string[]): Promise<Explained> {
  const { stdout, stderr } = await inProcess(explainServiceCommand, [...words, '-o', 'json']);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Explained;
}

/** Returns the verdict that a person reads: the first line, or the line after those about broken objects. */
export async function firstLineOf(words: readonly string[]): Promise<string> {
  const { stdout } = await inProcess(explainServiceCommand, words);
  return stdout.split('\n').find((line) => line !== '' && !/^(problem|warning|in force|not queried): /.test(line)) ?? '';
}

/** Removes how long ago something was seen, and the past tense: a case waits while others are tried. */
export function withoutTimes(line: string): string {
  return line
    .replaceAll(/were refused, the last one \d+ s ago/g, 'are refused')
    .replaceAll(/got no answer, the last one \d+ s ago/g, 'get no answer')
    .replaceAll(/were (dropped or rejected by a filter of the node that passes them on), the last one \d+ s ago/g, 'are $1')
    .replaceAll(/ \(over IPv4 \d+ \w+ ago, over IPv6 \d+ \w+ ago\)/g, '')
    .replaceAll(
      / was seen since [\w, -]+ asked for all routes again \d+ \w+ ago: (?:its|their) policy may have changed/g,
      ' was seen lately',
    );
}

export async function problems({ herald }: Scene): Promise<{ readonly code: number; readonly problems: readonly Problem[] }> {
  const { stdout, code } = await herald.run('status', '--problems', '--source', herald.directory, '-o', 'json');
  return { code, ...(JSON.parse(stdout) as { problems: Problem[] }) };
}

/** Returns the reasons of the controller's Events about a Service. */
export async function eventReasons({ herald }: Scene, service: string): Promise<readonly string[]> {
  const [namespace = '', name = ''] = service.split('/');
  const target = `/live/v1/history?kind=Service&namespace=${namespace}&name=${name}`;
  const { chunks } = await requestLocal(herald.socket('controller'), target, new AbortController().signal);
  return (JSON.parse(await text(chunks)) as Page<HistoryEntry>).items.map(({ what }) => what);
}

type Counts = (condition: string, status: string, reason: string) => number;

export async function conditionCounts({ lab }: Scene): Promise<Counts> {
  const program = "fetch('http://127.0.0.1:10292/metrics').then(async (answer) => console.log(await answer.text()))";
  const { stdout } = await lab.control.exec([process.execPath, '-e', program]);
  return conditionCountsIn(stdout);
}

/** Returns the number of Services by condition, status and reason, as a scrape of the controller's metrics counts them. */
export function conditionCountsIn(scrape: string): Counts {
  const samples = samplesOf(scrape, 'herald_service_conditions');
  return (condition, status, reason) =>
    samples.get(`herald_service_conditions{condition="${condition}",status="${status}",reason="${reason}"}`) ?? 0;
}

function explainWords({ herald, nodes }: Scene, service: string): string[] {
  const sockets = ['controller', ...nodes].flatMap((of) => ['--socket', herald.socket(of)]);
  return [service, '--source', herald.directory, ...sockets];
}
