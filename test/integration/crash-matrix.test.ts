import { crashMatrixOnServers } from '../support/crash-matrix/on-servers.ts';
import { useDatabase } from '../support/databases.ts';

crashMatrixOnServers('MySQL', () => {
  const database = useDatabase('mysql');
  return () => {
    const { options, storage, server } = database();
    const outage = { kill: () => server.kill(), revive: () => server.start() };
    return { options, storage, outage: server.external ? undefined : outage };
  };
});
