import { matrixCells } from '../../explain/check/render-check.ts';
import type { Judgement } from '../../explain/check/facts.ts';
import type { CheckView, Health } from '../contract.ts';
import type { CheckedService } from '../picture.ts';

/** Draws a check of a Service, with the words of `herald check service`. */
export function checkView({ report, nameOf, lines, at }: CheckedService): CheckView {
  const { service, verdict, outcome, unchecked } = report;
  return {
    at,
    service,
    verdict,
    health: healths[outcome],
    rows: matrixCells(report, nameOf, false).map(({ judgement, cells: [from, to, result, time] }) => ({
      from,
      to,
      result,
      time,
      health: healthOf[judgement],
    })),
    unchecked: unchecked.map(({ what, why, fix = '' }) => ({ what, why, fix })),
    lines,
  };
}

const healths: Readonly<Record<CheckedService['report']['outcome'], Health>> = {
  passed: 'good',
  failed: 'bad',
  incomplete: 'doubtful',
  unchecked: 'unknown',
};

const healthOf: Readonly<Record<Judgement, Health>> = { passed: 'good', failed: 'bad', narrow: 'doubtful', unknown: 'unknown' };
