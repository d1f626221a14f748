import { isRecord } from '../../../../../lang/is-record.ts';
import type { SourceDocument } from '../tool.ts';
import { containersOf, flagsOf, isImageOf } from '../workload.ts';

type Values = Readonly<Record<string, unknown>>;

const image = /(?:^|\/)kube-proxy(?:-[a-z0-9]+)?(?:[:@]|$)/;
/** The program in a command, alone or in a line for a shell. */
const program = /(?:^|[\s/])kube-proxy(?:\s|$)/;

/** The key in the configuration files of k3s and RKE2, with "+" where it adds to another file. */
const keys = ['kube-proxy-arg', 'kube-proxy-arg+'];

/** Returns the flags of kube-proxy: of a container, or in `kube-proxy-arg` of k3s and RKE2. Undefined: there are none. */
export function kubeProxyFlags({ raw }: SourceDocument): Values | undefined {
  const container = containersOf(raw).find((one) => isImageOf(one, image) || wordsOf(one).some((word) => program.test(word)));
  if (container !== undefined) return flagsOf({ args: wordsOf(container).flatMap(split) });
  const written = keys.filter((key) => raw['kind'] === undefined && raw[key] !== undefined && raw[key] !== null);
  if (written.length === 0) return undefined;
  const list = written.flatMap((key): readonly unknown[] => (Array.isArray(raw[key]) ? raw[key] : [raw[key]]));
  return flagsOf({ args: list.filter((one) => !isRecord(one)).map((one) => `--${String(one).replace(/^--/, '')}`) });
}

const wordsOf = (container: Values): string[] =>
  [container['command'], container['args']].flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : [])).map(String);

/** A line for a shell is many words. */
const split = (word: string): string[] => (program.test(word) ? word.split(/\s+/) : [word]);
