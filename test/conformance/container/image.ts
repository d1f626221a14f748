import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from '../../lab/command.ts';
import { stagesOf, type Instruction, type Stage } from './containerfile.ts';

/**
 * Roots that scripts/debian-root.sh creates: plain Debian for the last stage, and Debian with npm for the build stages, because installing
 * npm takes minutes.
 */
const bases = { last: '/var/cache/herald/container', others: '/var/cache/herald/container-npm' };

/** The file system of an image, in a directory in place of a container. */
export class Image {
  readonly root: string;
  readonly user: string;
  readonly entrypoint: readonly string[];

  private constructor(root: string, user: string, entrypoint: readonly string[]) {
    this.root = root;
    this.user = user;
    this.entrypoint = entrypoint;
  }

  /**
   * An image whose layers are in `root` already. Gets from a Debian root what a runtime provides: devices, and the program with which `confined`
   * changes users and capabilities inside the image.
   */
  static async unpacked(root: string, user: string, entrypoint: readonly string[]): Promise<Image> {
    await run(['cp', '-a', `${bases.last}/dev/.`, join(root, 'dev')]);
    for (const path of ['usr/bin/setpriv', 'usr/lib/x86_64-linux-gnu/libcap-ng.so.0'])
      if (!existsSync(join(root, path))) copyFileSync(join(bases.last, path), join(root, path));
    return new Image(root, user, entrypoint);
  }

  /** Builds the result of the Containerfile. `context` is the directory for `COPY`; `environment` is that of the commands, such as the registry of npm. */
  static async build(context: string, environment: Readonly<Record<string, string>>): Promise<Image> {
    for (const path of Object.values(bases))
      if (!existsSync(join(path, '.herald-packages'))) throw new Error(`there is no Debian root at ${path}: run scripts/debian-root.sh`);
    const stages = stagesOf(readFileSync(join(context, 'Containerfile'), 'utf8'));
    const roots: string[] = [];
    try {
      for (const stage of stages) {
        const root = mkdtempSync('/var/tmp/herald-image-');
        roots.push(root);
        const base = stage === stages.at(-1) ? bases.last : bases.others;
        await run(['cp', '-a', `${base}/.`, root], { timeoutMs: 300_000 });
        const rootOfStage = (name: string): string | undefined => roots[stages.findIndex((each) => each.name === name)];
        await runStage(stage, root, { context, environment, rootOfStage });
      }
      const last = (name: string): string => stages.at(-1)?.instructions.findLast((each) => each.name === name)?.value ?? '';
      const root = roots.pop() ?? '';
      return new Image(root, last('USER'), JSON.parse(last('ENTRYPOINT')) as string[]);
    } finally {
      for (const root of roots) rmSync(root, { recursive: true, force: true });
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

interface StageOptions {
  readonly context: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Returns the root of an earlier stage. */
  readonly rootOfStage: (name: string) => string | undefined;
}

async function runStage(stage: Stage, root: string, options: StageOptions): Promise<void> {
  let directory = '/';
  for (const { name, value } of stage.instructions) {
    if (name === 'WORKDIR') {
      directory = value;
      mkdirSync(join(root, directory), { recursive: true });
    } else if (name === 'COPY') copy(value, root, directory, options);
    else if (name === 'RUN') await runInRoot(root, directory, value, options.environment);
  }
}

function copy(value: Instruction['value'], root: string, directory: string, { context, rootOfStage }: StageOptions): void {
  const words = value.split(/\s+/);
  const stage = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1];
  const from = stage === undefined ? context : rootOfStage(stage);
  if (from === undefined) throw new Error(`Containerfile: COPY ${value}: there is no earlier stage of that name`);
  const paths = words.slice(stage === undefined ? 0 : 1, -1);
  const to = words.at(-1) ?? '';
  for (const path of paths) {
    // As in the format's rules: a destination that ends with a slash is a directory, any other is the new name.
    const name = to.endsWith('/') ? join(to, path.split('/').at(-1) ?? '') : to;
    const target = join(root, name.startsWith('/') ? name : join(directory, name));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(from, path), target, { recursive: true, verbatimSymlinks: true });
  }
}

const caBundle = '/etc/ssl/certs/ca-certificates.crt';

/** Runs a command as a builder does: /bin/sh as root, in the machine's network, trusting the CAs of the machine. */
async function runInRoot(root: string, directory: string, command: string, environment: Readonly<Record<string, string>>): Promise<void> {
  const trusted = '/run/authorities.crt';
  if (existsSync(caBundle)) copyFileSync(caBundle, join(root, trusted));
  const variables = Object.entries({
    npm_config_cafile: trusted,
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/root',
    ...environment,
  });
  const script = 'mount -t proc proc "$0/proc" && exec chroot "$0" env -i "$@"';
  const shell = ['/bin/sh', '-ec', `cd ${directory}; ${command}`];
  try {
    await run(['unshare', '--mount', 'sh', '-c', script, root, ...variables.map(([name, value]) => `${name}=${value}`), ...shell], {
      timeoutMs: 900_000,
    });
  } finally {
    rmSync(join(root, trusted), { force: true });
  }
}
