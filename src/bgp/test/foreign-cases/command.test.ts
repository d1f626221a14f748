import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { suiteFolder } from './suite-folder.ts';

const program = join(import.meta.dirname, '../foreign/main.ts');

function run(...args: string[]): { readonly status: number | null; readonly out: string; readonly err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
  return { status, out: stdout, err: stderr };
}

const keepalive = `1:raw:${'F'.repeat(32)}:0013:04\n`;
const broken = `1:raw:${'F'.repeat(32)}:0013:09\n`;

describe('npm run test:foreign', () => {
  it('exits with 64 and the way out without a directory', () => {
    expect(run()).toMatchObject({ status: 64, err: expect.stringContaining('DIR is missing: name a checkout of ExaBGP or FRR') });
  });

  it('exits with 64 for an unknown option', () => {
    expect(run('--fast')).toMatchObject({ status: 64, err: expect.stringContaining("Unknown option '--fast'") });
  });

  it('prints the suites and exit statuses for --help', () => {
    const { status, out } = run('--help');
    expect(status).toBe(0);
    for (const text of ['qa/encoding/*.ci', 'bgp_rfc7606_*', 'Exit status']) expect(out).toContain(text);
  });

  it('exits with 2 for a directory without a suite, and for one that does not exist', () => {
    const folder = suiteFolder({ 'README.md': '' });
    expect(run(folder)).toMatchObject({ status: 2, err: expect.stringContaining('has no qa/encoding or qa/decoding (ExaBGP)') });
    expect(run(join(folder, 'no'))).toMatchObject({ status: 2, err: expect.stringContaining('is no directory') });
    expect(run(suiteFolder({ 'qa/encoding/a.ci': 'option:file:a.conf\n' }))).toMatchObject({ status: 2 });
  });

  it('exits with 0 when all messages agree, and with 1 and a list for a deviation', () => {
    expect(run(suiteFolder({ 'qa/encoding/a.ci': keepalive }))).toMatchObject({
      status: 0,
      out: expect.stringContaining('1 messages, 1 agree'),
    });
    const { status, out } = run(suiteFolder({ 'qa/encoding/a.ci': keepalive + broken }));
    expect(status).toBe(1);
    expect(out).toContain(
      'deviates  RFC 4271 6.1\n    ExaBGP qa/encoding/a.ci:2: expected accepted, found reset (the message type 9 is unknown)',
    );
    expect(out).toContain('ExaBGP: 2 messages, 1 agree, 0 differ as an RFC demands or allows, 1 deviate');
  });

  it('prints JSON', () => {
    const { status, out } = run('--json', suiteFolder({ 'qa/decoding/a': 'open\n00\n' }));
    expect(status).toBe(1);
    expect(JSON.parse(out)).toMatchObject([{ suite: 'ExaBGP', name: 'qa/decoding/a:2', verdict: 'deviates' }]);
  });
});
