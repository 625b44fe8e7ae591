/** A write that is asked for again where the gate was closed and opened since the storage last looked, as a reconcile is. */
export async function despiteGateMoved<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'STORAGE_GATE_MOVED') throw error;
    return write();
  }
}
