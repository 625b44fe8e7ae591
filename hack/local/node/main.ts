// The node as a program of its own: main.ts <configuration file>. Ends on SIGTERM and leaves its pods running.
import { readFileSync } from 'node:fs';
import { stopSignal } from '../../../src/app/signals.ts';
import { createLogger } from '../../../src/base/logger.ts';
import type { NodeConfiguration } from './configuration.ts';
import { runProcessNode } from './process-node.ts';

const file = process.argv[2];
if (file === undefined) {
  process.stderr.write('usage: main.ts <configuration file>\n');
  process.exit(2);
}
const configuration = JSON.parse(readFileSync(file, 'utf8')) as NodeConfiguration;
const logger = createLogger('info', 'process-node');
await runProcessNode(configuration, logger, stopSignal(logger));
process.exit(0);
