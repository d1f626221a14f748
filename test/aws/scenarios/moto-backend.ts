import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { motoCloud } from '../moto-cloud.ts';
import { makeAccount } from '../moto-account.ts';
import type { Moto } from '../moto.ts';
import { onVirtualTime, type AwsBackend } from './scenario-fixture.ts';

/** The emulator over HTTP, with an account that was emptied before. It has no time of its own: everything is ready at once. */
export async function motoBackend(moto: Moto): Promise<AwsBackend> {
  await moto.reset();
  return { cloud: motoCloud(moto), account: await makeAccount(moto), ...onVirtualTime(new VirtualClock()) };
}
