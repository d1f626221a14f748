import { EC2Client, DescribeVpcsCommand } from '@aws-sdk/client-ec2';
import { describe, expect, test } from 'vitest';

describe('the loopback restriction of AWS tests', () => {
  test('a connection to another address is refused, by name and by number', async () => {
    const cause = { message: expect.stringContaining('only loopback is allowed') };
    await expect(fetch('http://ec2.us-east-1.amazonaws.com/')).rejects.toMatchObject({ cause });
    await expect(fetch('https://169.254.169.254/')).rejects.toMatchObject({ cause });
  });

  test('a client without endpoint and credentials connects to a closed loopback port', async () => {
    const client = new EC2Client({ region: 'us-east-1', maxAttempts: 1 });
    await expect(client.send(new DescribeVpcsCommand({}))).rejects.toMatchObject({ code: 'ECONNREFUSED', address: '127.0.0.1', port: 9 });
  });

  test('a client with the real endpoint is refused', async () => {
    const client = new EC2Client({ region: 'us-east-1', maxAttempts: 1, endpoint: 'https://ec2.us-east-1.amazonaws.com' });
    await expect(client.send(new DescribeVpcsCommand({}))).rejects.toThrow('only loopback is allowed');
  });
});
