import type { GoPrograms } from '../go-program.ts';

const COMMANDS = 'vitess.io/vitess/go/cmd';

/** What "npm run vitess" needs: ten minutes to build. */
export const vitessPrograms: GoPrograms = {
  what: "Vitess' vtgate, vttablet, vtctld and vtctldclient",
  folder: 'vitess',
  packages: ['vtgate', 'vttablet', 'vtctld', 'vtctldclient'].map((name) => `${COMMANDS}/${name}`),
};
