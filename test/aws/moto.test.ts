import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { DescribeVpcsCommand, EC2Client } from '@aws-sdk/client-ec2';
import { describe, expect, test } from 'vitest';
import { until } from '../lab/until.ts';
import { Moto } from './moto.ts';

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };

describe('the moto server', () => {
  test('answers the SDK on loopback, and is gone when stopped', async () => {
    const moto = await Moto.start();
    const client = new EC2Client({ region: 'us-east-1', endpoint: moto.endpoint, credentials });
    expect((await client.send(new DescribeVpcsCommand({}))).Vpcs).toHaveLength(1);
    await moto.stop();
    expect(existsSync(`/proc/${moto.pid}`)).toBe(false);
  });

  test('does not outlive a test that is killed', async () => {
    const program = `
      const { Moto } = await import(${JSON.stringify(join(import.meta.dirname, 'moto.ts'))});
      console.log((await Moto.start()).pid);
      process.kill(process.pid, 'SIGKILL');`;
    const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    expect(signal).toBe('SIGKILL');
    expect(Number(stdout)).toBeGreaterThan(1);
    await until('moto is gone', () => !existsSync(`/proc/${Number(stdout)}`));
  });
});
