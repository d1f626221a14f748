/** One instruction of a Containerfile, with continued lines joined. */
export interface Instruction {
  readonly name: string;
  readonly value: string;
}

export interface Stage {
  /** The name in `FROM ... AS name`. */
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

const known = new Set(['RUN', 'COPY', 'WORKDIR', 'USER', 'ENTRYPOINT']);

/** Returns the stages, each of which must begin with `FROM ${BASE}`. Throws for an unknown instruction, so that no test skips one. */
export function stagesOf(containerfile: string): Stage[] {
  const lines = containerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n');
  const stages: { name: string | undefined; instructions: Instruction[] }[] = [];
  for (const line of lines.map((each) => each.trim()).filter((each) => each !== '')) {
    const [, name = '', value = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    const from = /^\$\{BASE\}(?: AS (\w+))?$/.exec(value);
    if (name === 'ARG' && value === 'BASE') continue;
    if (name === 'FROM' && from !== null) stages.push({ name: from[1], instructions: [] });
    else if (known.has(name) && stages.length > 0) stages.at(-1)?.instructions.push({ name, value });
    else throw new Error(`Containerfile: this test does not know what to do with: ${line}`);
  }
  return stages;
}
