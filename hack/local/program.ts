import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/**
 * Entry of the program or of the kubectl plugin: that of the sources, or of the built program in the folder that
 * TEST_PROGRAM names. The built one starts in half the processor time.
 */
export function programFile(entry: 'main' | 'kubectl-ingester'): string {
  const built = process.env['TEST_PROGRAM'] ?? '';
  return built === '' ? join(root, 'src', `${entry}.ts`) : join(built, 'src', `${entry}.js`);
}
