#!/usr/bin/env php
<?php

/**
 * A template of an adapter in PHP 8.2 or later, without dependencies.
 *
 * It speaks the protocol and holds no client: it claims no capability, so nothing is run against
 * it, and every operation is answered with `adapter_error`. To make it yours, put a client into
 * `Agent`, claim what that client can do in `hello()`, and sort its errors in `errorOf()`.
 *
 *     relay-testbed adapter check "php template.php"
 */

declare(strict_types=1);

const PROTOCOL = 1;

/** What the client is and can do. Ask the installed package for its name and version. */
function hello(): array
{
    return [
        'protocol' => PROTOCOL,
        'name' => 'template',
        'version' => '0.0.0',
        'language' => 'PHP ' . PHP_VERSION,
        'capabilities' => [],
        'cannot_honour' => [],
        'timeout_step_ms' => 1,
    ];
}

/** The adapter's own failure. Never counted for or against the client. */
final class NotImplemented extends RuntimeException
{
    public function __construct(string $operation)
    {
        parent::__construct("not implemented: $operation");
    }
}

/**
 * One attached agent. Keep its client here; each method answers with the shape named above it.
 * Objects of a request arrive as arrays. An empty object goes back as `new stdClass()`.
 */
final class Agent
{
    /**
     * Builds a client from `$request['config']` and attaches it, without any network.
     *
     * @return array{Agent, array{attachment: string, client?: string}}
     */
    public static function attach(array $request): array
    {
        throw new NotImplemented('attach');
    }

    /** tools: [{name, description, digest?}], set_aside?: [{name, why}] */
    public function tools(array $request): array
    {
        throw new NotImplemented('tools');
    }

    /** text, revision? */
    public function call(array $request): array
    {
        throw new NotImplemented('call');
    }

    /** feed, complete, answered, nothing_changed, changes, defer_to, handles, revision? */
    public function changesSince(array $request): array
    {
        throw new NotImplemented('changes_since');
    }

    /** state */
    public function conflictDetection(array $request): array
    {
        throw new NotImplemented('conflict_detection');
    }

    /** nothing: {} */
    public function announce(array $request): stdClass
    {
        throw new NotImplemented('announce');
    }

    /** state, revision?, conflict_detection, change_feed, client? */
    public function status(array $request): array
    {
        throw new NotImplemented('status');
    }

    /** state */
    public function detach(array $request): array
    {
        throw new NotImplemented('detach');
    }
}

/** The client's own digest of a tool definition: digest */
function digest(array $definition): array
{
    throw new NotImplemented('digest');
}

/** Sorts what was thrown. Decide by class; what is none of the client's is a foreign exception. */
function errorOf(Throwable $thrown): array
{
    return [
        'code' => $thrown instanceof NotImplemented ? 'adapter_error' : 'foreign_exception',
        'native' => $thrown::class,
        'message' => $thrown->getMessage(),
    ];
}

// -- the protocol: nothing below needs to change --

final class Adapter
{
    /** @var array<string, Agent> */
    private array $agents = [];

    public function perform(array $request): array|stdClass
    {
        return match ($request['op']) {
            'hello' => hello(),
            'digest' => digest($request['definition']),
            'reset' => $this->reset(),
            'shutdown' => new stdClass(),
            'attach' => $this->attach($request),
            'tools' => $this->agent($request)->tools($request),
            'call' => $this->agent($request)->call($request),
            'changes_since' => $this->agent($request)->changesSince($request),
            'conflict_detection' => $this->agent($request)->conflictDetection($request),
            'announce' => $this->agent($request)->announce($request),
            'status' => $this->agent($request)->status($request),
            'detach' => $this->agent($request)->detach($request),
            // A newer testbed may ask for more.
            default => throw new NotImplemented($request['op']),
        };
    }

    private function attach(array $request): array
    {
        unset($this->agents[$request['agent']]);
        [$agent, $answer] = Agent::attach($request);
        $this->agents[$request['agent']] = $agent;

        return $answer;
    }

    private function agent(array $request): Agent
    {
        return $this->agents[$request['agent']]
            ?? throw new NotImplemented("{$request['op']} without attach");
    }

    private function reset(): stdClass
    {
        $this->agents = [];

        return new stdClass();
    }
}

// stdout carries answers only: warnings go to stderr, and what a client echoes does too.
ini_set('display_errors', 'stderr');
ini_set('log_errors', '0');
ob_start(static function (string $echoed): string {
    fwrite(STDERR, $echoed);

    return '';
}, 1);

$adapter = new Adapter();

while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line, true, 512, JSON_THROW_ON_ERROR);

    try {
        $outcome = ['ok' => $adapter->perform($request)];
    } catch (Throwable $thrown) {
        $outcome = ['error' => errorOf($thrown)];
    }

    // ASCII, because JSON_UNESCAPED_UNICODE is not set; bytes that are no UTF-8 become U+FFFD.
    $flags = JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE | JSON_PRESERVE_ZERO_FRACTION;
    fwrite(STDOUT, json_encode(['id' => $request['id']] + $outcome, $flags) . "\n");
    fflush(STDOUT);

    if ($request['op'] === 'shutdown') {
        break;
    }
}
