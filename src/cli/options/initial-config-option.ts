import { InvalidArgumentError, Option } from 'commander';
import { parseObject } from '../../model/parse.ts';
import { heraldApiVersion } from '../../model/kinds.ts';

export interface InitialConfigFlag {
  /** A valid manifest of HeraldConfig/default. */
  readonly initialConfig?: object;
}

export const initialConfigOption = (): Option =>
  new Option(
    '--initial-config <json>',
    'a manifest of HeraldConfig/default; the leading controller creates it when it does not exist, and never changes an existing one',
  )
    .argParser(readInitialConfig)
    .conflicts('source');

const example = `{"apiVersion":"${heraldApiVersion}","kind":"HeraldConfig","metadata":{"name":"default"},"spec":{"services":"external"}}`;

function readInitialConfig(text: string): object {
  const raw = parsed(text);
  const { object, problems } = parseObject(raw);
  const [problem] = problems;
  if (problem !== undefined) {
    const { field, message, fix } = problem;
    throw new InvalidArgumentError(`HeraldConfig: ${field === '' ? 'it' : field} ${message} (${fix}).`);
  }
  if (object?.kind !== 'HeraldConfig') throw new InvalidArgumentError(`It is not a HeraldConfig. Write ${example}.`);
  return raw as object;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError(`It is not JSON. Write ${example}.`);
  }
}
