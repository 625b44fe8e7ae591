// With what is an outage of MySQL elsewhere as the death of one of the two tablets.
import { crashMatrixOnServers } from '../support/crash-matrix/on-servers.ts';
import { useVitess } from '../support/use-vitess.ts';

crashMatrixOnServers('Vitess', () => {
  const vitess = useVitess();
  return () => {
    const { options, storage, cluster } = vitess();
    const [tablet] = cluster.tablets;
    const outage = { kill: async () => tablet?.crash(), revive: async () => tablet?.start() };
    return { options, storage, outage };
  };
});
