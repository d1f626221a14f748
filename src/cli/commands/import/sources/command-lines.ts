import { limits } from '../../../limits.ts';

/** `--kube-proxy-arg=NAME=VALUE` of k3s and RKE2 in a unit of systemd, a script or a list, with or without quotes. */
const argument = /--kube-proxy-arg(?:=|["']?[\s\\,]+(?:- )?)(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'\\\]]+))/g;

/** Returns the arguments that command lines in a text give to kube-proxy, and the line of the first. Comments are left out. */
export function kubeProxyArguments(text: string): { readonly words: readonly string[]; readonly line: number } {
  if (!text.includes('--kube-proxy-arg')) return { words: [], line: 1 };
  // Every line keeps its number.
  const code = text.replaceAll(/^[ \t]*#.*$/gm, '');
  const found = [...code.matchAll(argument)].slice(0, limits.importItems);
  const line = code.slice(0, found[0]?.index ?? 0).split('\n').length;
  return { words: found.map(([, double, single, plain]) => (double ?? single ?? plain ?? '').replace(/,$/, '')), line };
}
