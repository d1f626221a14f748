import { DataplaneError } from '../dataplane.ts';

/** Tries what the kernel may not do; why it does not, in its words, or undefined: it does. Rejects for other reasons than the kernel's. */
export async function kernelRefusal(attempt: () => Promise<void>): Promise<string | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    if (error instanceof DataplaneError) return error.message;
    throw error;
  }
}
