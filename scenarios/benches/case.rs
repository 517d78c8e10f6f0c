//! What a case costs on the wall, beside the floor that nothing can go below: the same number of
//! bare exchanges between axum and reqwest on a fresh runtime and a Unix socket.
//!
//! Read the ratio, in one run on one machine; a single figure says more about the machine.

use divan::Bencher;
use relay_scenarios::plan::PlannedCase;
use relay_scenarios::run::{Clock, Conditions, RunOptions, Runner, Which};
use relay_scenarios::select::{Selection, select};
use relay_simulator::clock::run_virtual;
use relay_simulator::wire::{Wire, serve};

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // reqwest wants a provider even for plain HTTP; our client brings its own along.
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().expect("nobody was first");
    divan::main();
}

fn runner(wire: Wire) -> Runner {
    let options = RunOptions {
        conditions: Conditions { seed: 1, wire, clock: Clock::Virtual },
        which: Which::Builtin,
        jobs: 1,
        fail_fast: false,
        keep_records: false,
    };
    Runner::new(options).expect("the built-in client needs nothing")
}

fn suite() -> Vec<PlannedCase> {
    select(&Selection::default()).expect("the embedded suite is right")
}

/// One bare exchange: a runtime, a server, a client, a POST and its answer.
#[divan::bench(args = [1, 7])]
fn bare_axum_and_reqwest(bencher: Bencher<'_, '_>, exchanges: usize) {
    bencher.bench(|| {
        run_virtual(async {
            let echo = axum::Router::new().fallback(|body: String| async move { body });
            let server = serve(Wire::Unix, echo).expect("a socket");
            let endpoint = server.endpoint().clone();
            let client = reqwest::Client::builder()
                .no_proxy()
                .tls_certs_only([])
                .unix_socket(endpoint.unix_socket.expect("a Unix socket"))
                .build()
                .expect("a client");
            for _ in 0..exchanges {
                let answer = client.post(&endpoint.base_url).body("ping").send().await;
                let text = answer.expect("an answer").text().await.expect("its body");
                assert_eq!(text, "ping");
            }
            server.shutdown().await;
        })
        .expect("an hour is enough");
    });
}

/// Every case of the suite in turn: divan's median is the median case.
#[divan::bench(args = [Wire::Unix, Wire::Tcp, Wire::Tls], sample_size = 1, sample_count = 400)]
fn built_in_case(bencher: Bencher<'_, '_>, wire: Wire) {
    let (runner, cases) = (runner(wire), suite());
    let mut next = cases.chunks(1).cycle();
    bencher.with_inputs(|| next.next().expect("it goes round")).bench_local_values(|case| {
        runner.run(case, &mut |_| ());
    });
}
