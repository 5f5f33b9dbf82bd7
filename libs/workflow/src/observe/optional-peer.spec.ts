import { createRequire } from 'node:module';
import { WorkflowConfigurationError } from '../errors.js';
import { ifThere, PEERS, required, type Loaded } from './optional-peer.js';

describe('optional peers', () => {
  const missing: Loaded = (() => {
    try {
      return { module: createRequire(__filename)('a-package-that-nobody-has') as unknown };
    } catch (error) {
      return { error };
    }
  })();
  const broken: Loaded = { error: new SyntaxError('broken') };

  test('MET-01 without the packages of Prometheus there are no metrics in it; a package that is there and broken is said', () => {
    expect(ifThere(missing)).toBeNull();
    expect(() => ifThere(broken)).toThrow('broken');
    expect(ifThere(PEERS.prometheus())).toHaveProperty('makeCounterProvider');
  });

  test('MET-07 a backend that is asked for and cannot be loaded is a WorkflowConfigurationError that says what to install', () => {
    const ask = () => required(missing, '@willsoto/nestjs-prometheus prom-client', 'metrics.prometheus');
    expect(ask).toThrow(WorkflowConfigurationError);
    expect(ask).toThrow(
      'WorkflowModule: "metrics.prometheus" needs @willsoto/nestjs-prometheus and prom-client, which could not be loaded: ' +
        'npm install @willsoto/nestjs-prometheus prom-client, or leave it out.',
    );
    expect(required(PEERS.openTelemetry(), '@opentelemetry/api', 'metrics.openTelemetry')).toHaveProperty('trace');
  });
});
