import { DataplaneError } from '../dataplane.ts';

/**
 * Makes an attempt that the kernel may refuse. Returns the error text of a refusal, or undefined on success. Rejects with any other error.
 */
export async function kernelRefusal(attempt: () => Promise<void>): Promise<string | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    if (error instanceof DataplaneError) return error.message;
    throw error;
  }
}
