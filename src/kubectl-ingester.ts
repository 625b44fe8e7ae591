#!/usr/bin/env node
import './cli/kubectl/older-node.ts';
import { runPlugin } from './cli/kubectl/program.ts';

/** A reader that has seen enough, as head does, is no failure. */
process.stdout.on('error', ({ code: reason }: NodeJS.ErrnoException) => process.exit(reason === 'EPIPE' ? 0 : 1));

const code = await runPlugin(process.argv);
// A pipe takes what was written only as fast as its reader reads.
process.stdout.write('', () => process.exit(code));
