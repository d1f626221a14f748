import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { DescribeVpcsCommand, EC2Client } from '@aws-sdk/client-ec2';
import { describe, expect, test } from 'vitest';
import { until } from '../../../../test/lab/until.ts';
import { Moto } from './moto.ts';

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };

describe('the moto server', () => {
  test('the server answers the SDK on loopback, and has ended after stop', async () => {
    const moto = await Moto.start();
    const client = new EC2Client({ region: 'us-east-1', endpoint: moto.endpoint, credentials });
    expect((await client.send(new DescribeVpcsCommand({}))).Vpcs).toHaveLength(1);
    await moto.stop();
    expect(existsSync(`/proc/${moto.pid}`)).toBe(false);
  });

  test('the server ends when its test is killed', async () => {
    const program = `
      const { Moto } = await import(${JSON.stringify(join(import.meta.dirname, 'moto.ts'))});
      console.log((await Moto.start()).pid);
      process.kill(process.pid, 'SIGKILL');`;
    // A killed process cannot remove its log.
    const scratch = mkdtempSync(join(tmpdir(), 'herald-killed-'));
    const env = { ...process.env, TMPDIR: scratch };
    const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', env });
    expect(signal).toBe('SIGKILL');
    expect(Number(stdout)).toBeGreaterThan(1);
    await until('moto is gone', () => !existsSync(`/proc/${Number(stdout)}`));
    rmSync(scratch, { recursive: true });
  });
});
