// The APIs of providers of language models, and where people log in to use them with a tool.
import type { NetworkPreset } from './network-preset.ts';

/** Each region of these providers has a name of its own. */
const bedrockRegions = [
  ...['us-east-1', 'us-east-2', 'us-west-2', 'ca-central-1', 'sa-east-1'],
  ...['eu-central-1', 'eu-north-1', 'eu-west-1', 'eu-west-2', 'eu-west-3'],
  ...['ap-northeast-1', 'ap-northeast-2', 'ap-south-1', 'ap-southeast-1', 'ap-southeast-2'],
];
const vertexRegions = ['us-central1', 'us-east5', 'europe-west1', 'europe-west4', 'asia-southeast1', 'asia-northeast1'];

export const modelProviders: NetworkPreset = {
  name: 'model_providers',
  date: '2026-11-23',
  about: 'providers of language models',
  domains: [
    ...['anthropic.com', '*.anthropic.com', 'claude.ai', 'claude.com', '*.claude.com'],
    ...['api.openai.com', 'auth.openai.com', 'chatgpt.com', '*.openai.azure.com'],
    ...['generativelanguage.googleapis.com', 'aiplatform.googleapis.com', 'oauth2.googleapis.com'],
    ...vertexRegions.map((region) => `${region}-aiplatform.googleapis.com`),
    ...bedrockRegions.map((region) => `bedrock-runtime.${region}.amazonaws.com`),
    ...['api.mistral.ai', 'codestral.mistral.ai', 'api.x.ai', 'api.cohere.com', 'api.perplexity.ai'],
    ...['api.groq.com', 'api.cerebras.ai', 'api.together.xyz', 'api.together.ai', 'api.fireworks.ai'],
    ...['api.deepseek.com', 'api.moonshot.ai', 'api.z.ai', 'api.minimax.io', 'dashscope-intl.aliyuncs.com'],
    ...['openrouter.ai', 'api.replicate.com', 'api.voyageai.com', 'ollama.com', 'registry.ollama.ai'],
    ...['huggingface.co', '*.huggingface.co', 'hf.co', '*.hf.co'],
    ...['api.githubcopilot.com', '*.githubcopilot.com', 'models.github.ai', 'models.inference.ai.azure.com'],
  ],
};
