import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leftOut } from '../../scripts/release/debian/pinned.ts';
import { run } from '../lab/command.ts';
import { committed, traces, version } from './clone.ts';
import { Layout } from './layout.ts';

const emulator = '/usr/bin/qemu-aarch64-static';

/** Compares the images of both architectures in a layout, and runs programs of arm64 in an emulator. `directory` is for unpacked files. */
export function testArchitectures({ archive, directory }: { readonly archive: string; readonly directory: string }): void {
  let layout: Layout;
  const roots = { amd64: join(directory, 'amd64'), arm64: join(directory, 'arm64') };

  beforeAll(async () => {
    layout = await Layout.unpack(archive, join(directory, 'image'));
    for (const [architecture, folder] of Object.entries(roots)) await layout.unpackImage(architecture, folder);
  }, 600_000);

  test.each(Object.keys(roots))('the image for %s has at most 120 MB as registries store it', (architecture) => {
    const size = layout.image(architecture).layers.reduce((sum, one) => sum + one.size, 0);
    console.log(`${architecture}: ${(size / 1_000_000).toFixed(1)} MB`);
    expect(size).toBeLessThan(120_000_000);
  });

  test.each(Object.keys(roots))('the image for %s has the labels of OCI and the time of the commit', (architecture) => {
    const { config } = layout.image(architecture);
    expect(config).toMatchObject({ architecture, os: 'linux', created: '2026-01-02T03:04:05Z' });
    expect(config.config).toMatchObject({ User: '65532:65532', Entrypoint: ['/usr/local/bin/herald'] });
    const label = (name: string): string | undefined => config.config.Labels[`org.opencontainers.image.${name}`];
    expect(['version', 'licenses', 'source', 'created'].map(label)).toEqual([
      version,
      'Apache-2.0',
      'https://herald.dev',
      '2026-01-02T03:04:05Z',
    ]);
    expect(label('revision')).toMatch(/^[0-9a-f]{40}$/);
  });

  test('both have the same files, apart from names of the architecture', async () => {
    const [amd64, arm64] = await Promise.all(
      Object.values(roots).map(async (folder) => {
        const { stdout } = await run(['find', '.', '-printf', '%M %P -> %l\\n'], { cwd: folder });
        const neutral = stdout
          .replaceAll(/x86_64-linux-gnu|aarch64-linux-gnu/g, 'TRIPLET')
          .replaceAll(/linux_x64|linux_arm64|linux-x64|linux-arm64/g, 'MACHINE')
          .replaceAll(/musl_x64|musl_arm64/g, 'MUSL');
        // The loader, which has another name and place, and a driver for VIA processors.
        return neutral
          .split('\n')
          .filter((line) => !/ld-linux-|lib64|padlock\.so/.test(line))
          .toSorted();
      }),
    );
    expect(amd64?.length).toBeGreaterThan(1000);
    expect(arm64).toEqual(amd64);
  });

  test('everything belongs to root, has the time of the commit, and gives no rights by itself', async () => {
    const { stdout } = await run([
      'find',
      roots.arm64,
      roots.amd64,
      '(',
      '-not',
      '-user',
      '0',
      '-o',
      '-not',
      '-group',
      '0',
      '-o',
      '-perm',
      '/6000',
      ')',
    ]);
    expect(stdout).toBe('');
    const { stdout: times } = await run(['find', roots.amd64, '-mindepth', '1', '-not', '-type', 'd', '-printf', '%T@\\n']);
    expect(new Set(times.trim().split('\n').map(Number))).toEqual(new Set([committed.getTime() / 1000]));
  });

  test('no file of the image names a folder of the machine that built it', async () => {
    const patterns = traces.flatMap((trace) => ['-e', trace]);
    const grep = ['grep', '--recursive', '--files-with-matches', '--fixed-strings', ...patterns, roots.amd64];
    expect((await run(grep, { check: false })).stdout).toBe('');
  });

  test('users, name services, alternatives and certificates are there, as maintainer scripts make them', async () => {
    const text = (path: string): string => readFileSync(join(roots.arm64, path), 'utf8');
    expect(text('etc/passwd')).toMatch(/^root:.*:0:0:/m);
    expect(text('etc/group')).toMatch(/^root:.*:0:/m);
    expect(text('etc/nsswitch.conf')).toMatch(/^hosts:\s+files dns/m);
    const certificates = text('etc/ssl/certs/ca-certificates.crt').match(/-----BEGIN CERTIFICATE-----/g) ?? [];
    expect(certificates.length).toBeGreaterThan(100);
    await run(['openssl', 'crl2pkcs7', '-nocrl', '-certfile', join(roots.arm64, 'etc/ssl/certs/ca-certificates.crt')]);
    for (const tool of ['iptables', 'ip6tables-save']) {
      const { stdout } = await run(['chroot', roots.amd64, tool, '--version']);
      expect(stdout).toContain('(nf_tables)');
    }
  });

  test('scanners find every package, and its copyright notice is there', () => {
    const status = readFileSync(join(roots.amd64, 'var/lib/dpkg/status'), 'utf8');
    const names = [...status.matchAll(/^Package: (.*)$/gm)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(40);
    expect(names.filter((name) => name in leftOut)).toEqual([]);
    expect(status.match(/^Status: install ok installed$/gm)).toHaveLength(names.length);
    const silent = names.filter((name) => !existsSync(join(roots.amd64, 'usr/share/doc', name, 'copyright')));
    expect(silent).toEqual([]);
  });

  /** Lists the programs of a root whose libraries the loader does not find. */
  const lacking = async (folder: string, loader: readonly string[]): Promise<string> => {
    const script = `for program in /usr/bin/* /usr/sbin/*; do
      head -c 4 "$program" 2>/dev/null | grep -q ELF || continue
      printf '%s\\n' "$program"
    done`;
    const programs = (await run(['sh', '-c', script.replaceAll(/\/usr\//g, `${folder}/usr/`)])).stdout.trim().split('\n');
    expect(programs.length).toBeGreaterThan(100);
    const outcomes: string[] = [];
    for (const program of programs) {
      const { stdout, stderr, code } = await run(['chroot', folder, ...loader, '--list', program.slice(folder.length)], { check: false });
      if (/not found/.test(stdout) || (code !== 0 && !/statically linked|not a dynamic/.test(stdout + stderr)))
        outcomes.push(`${program}: ${stdout}${stderr}`);
    }
    return outcomes.join('\n');
  };

  test('every program for amd64 finds its libraries', async () => {
    expect(await lacking(roots.amd64, ['/lib64/ld-linux-x86-64.so.2'])).toBe('');
  });

  describe('arm64 in an emulator', () => {
    beforeAll(() => {
      copyFileSync(emulator, join(roots.arm64, 'emulator'));
    });
    afterAll(() => rmSync(join(roots.arm64, 'emulator')));
    const emulated = (...argv: readonly string[]): ReturnType<typeof run> =>
      run(['chroot', roots.arm64, '/emulator', ...argv], { check: false });

    test('every program finds its libraries', async () => {
      expect(await lacking(roots.arm64, ['/emulator', '/lib/ld-linux-aarch64.so.1'])).toBe('');
    }, 600_000);

    test('Node.js runs Herald', async () => {
      const { stdout } = await emulated('/opt/herald/node_modules/.bin/node', '/opt/herald/program/herald.js', '--version');
      expect(stdout).toBe(`${version}\n`);
    });

    test('Node.js loads koffi, which calls the C library', async () => {
      const script = "const koffi = require('/opt/herald/node_modules/koffi'); console.log(koffi.load(null).func('int abs(int)')(-42))";
      expect((await emulated('/opt/herald/node_modules/.bin/node', '-e', script)).stdout).toBe('42\n');
    });

    test.each([
      ['/usr/bin/ip', '-V', 'ip utility, iproute2'],
      ['/usr/sbin/iptables-nft-save', '--version', '(nf_tables)'],
      // The emulator has no netlink sockets of netfilter, so nft stops there: its libraries are loaded then.
      ['/usr/sbin/nft', '--version', /nftables v|Unable to initialize Netlink socket/],
    ])('%s runs', async (program, option, wanted) => {
      const { stdout, stderr } = await emulated(program, option);
      if (typeof wanted === 'string') expect(stdout + stderr).toContain(wanted);
      else expect(stdout + stderr).toMatch(wanted);
    });
  });
}
