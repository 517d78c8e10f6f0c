//! What editors and reference pages learn of the `relay:` section comes from its types.

#![allow(clippy::unwrap_used, missing_docs)]

use relay_simulator::fault::FaultRule;
use relay_simulator::relay::RelaySpec;
use serde_json::{Value, json};

fn schema() -> Value {
    schemars::schema_for!(RelaySpec).to_value()
}

#[test]
fn every_power_of_a_fault_is_described() {
    let schema = schema();
    let rule = &schema["$defs"]["FaultRule"];
    assert_eq!(rule["additionalProperties"], json!(false));
    let powers = rule["properties"].as_object().unwrap();
    for power in ["on", "hoard", "buffer", "drop", "status", "redirect", "close", "mutate", "junk"]
    {
        assert!(powers.contains_key(power), "{power}");
    }
    for (power, property) in powers {
        assert!(property["description"].is_string(), "{power} has no description");
    }
}

#[test]
fn a_selector_is_a_route_or_a_mapping() {
    let schema = schema();
    let forms = schema["$defs"]["Selector"]["anyOf"].as_array().unwrap();
    assert_eq!(
        forms,
        &[json!({"$ref": "#/$defs/RouteName"}), json!({"$ref": "#/$defs/SelectorFields"})]
    );
    let fields = &schema["$defs"]["SelectorFields"]["properties"];
    for field in ["route", "request", "answer", "notification", "nth", "chance"] {
        assert!(fields[field]["description"].is_string(), "{field}");
    }
}

#[test]
fn an_empty_section_is_the_readme_dialect_without_faults() {
    let read: RelaySpec = serde_json::from_value(json!({})).unwrap();
    assert_eq!(read, RelaySpec::default());
    assert!(serde_json::from_value::<RelaySpec>(json!({"dialekt": "readme"})).is_err());
}

#[test]
fn a_rule_is_scaled_in_all_its_times() {
    let mut rule: FaultRule = serde_json::from_value(json!({
        "on": {"answer": "x", "after": "10s", "before": "20s"},
        "hoard": "12s", "delay": "2s", "over_hold": "4s",
    }))
    .unwrap();
    rule.scale(&|time| time / 2);
    let scaled = serde_json::to_value(&rule).unwrap();
    assert_eq!(
        scaled,
        json!({
            "on": {"answer": "x", "after": "5s", "before": "10s"},
            "hoard": "6s", "delay": "1s", "over_hold": "2s",
        })
    );
}
