/*
node_modules/typebox 1.4.3 sha512-u3nyf7ZciAv1GOijVpI0TDt9At5wmEi7lSHSlRrnjuThv1DcB7fgGBqqrz+fGZ54jAfTpOOX0JXwxSIg3pnxQA==

typebox

TypeBox

The MIT License (MIT)

Copyright (c) 2017-2026 Haydn Paterson

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.
*/
function IsArray$1(value){return Array.isArray(value)}function IsBigInt$1(value){return IsEqual(typeof value,"bigint")}
function IsBoolean$1(value){return IsEqual(typeof value,"boolean")}function IsNull$1(value){return IsEqual(value,null)}
function IsNumber$1(value){return Number.isFinite(value)}function IsObjectNotArray(value){
return IsObject$1(value)&&!IsArray$1(value)}function IsObject$1(value){
return IsEqual(typeof value,"object")&&!IsNull$1(value)}function IsString$1(value){return IsEqual(typeof value,"string")
}function IsEqual(left,right){return left===right}function IsGreaterThan(left,right){return left>right}
function IsLessThan(left,right){return left<right}function ShiftLeft(array,true_,false_){
return IsEqual(array.length,0)?false_():true_(array[0],array.slice(1))}function IsUnsafePropertyKey(key){
return IsEqual(key,"__proto__")||IsEqual(key,"constructor")||IsEqual(key,"prototype")}
function HasPropertyKey(value,key){
return IsUnsafePropertyKey(key)?Object.prototype.hasOwnProperty.call(value,key):key in value}function Keys$1(value){
return Object.getOwnPropertyNames(value)}function Symbols(value){return Object.getOwnPropertySymbols(value)}
function Values(value){return Object.values(value)}const settings={immutableTypes:false,maxErrors:8,maxParseErrors:1,
maxInstantiationCount:128,useAcceleration:true,exactOptionalPropertyTypes:false,enumerableKind:false,
correctiveParse:false,unionPrioritySort:true};function Get(){return settings}function Keys(value){
return[...Keys$1(value),...Symbols(value)]}function Freeze(value,seen){if(seen.has(value))return;seen.add(value)
;for(const key of Keys(value)){const descriptor=Object.getOwnPropertyDescriptor(value,key)
;if(!descriptor||!("value"in descriptor))continue;if(IsObject$1(descriptor.value))Freeze(descriptor.value,seen)}
Object.freeze(value)}function Finalize(value){if(!Get().immutableTypes)return value;Freeze(value,new WeakSet)
;return value}function Assign(left,right){const result={},rightKeys=Keys(right),leftKeys=Keys(left)
;for(const key of leftKeys){if(rightKeys.includes(key))continue
;Object.defineProperty(result,key,Object.getOwnPropertyDescriptor(left,key))}for(const key of rightKeys){
Object.defineProperty(result,key,Object.getOwnPropertyDescriptor(right,key))}return Finalize(result)}
function WithEnumerable$1(left,right){return{...left,...right}}function WithHidden$1(left,right){
for(const key of Object.keys(right)){Object.defineProperty(left,key,{configurable:true,writable:true,enumerable:false,
value:right[key]})}return left}function Create(hidden,enumerable,options={}){
const withEnumerable=WithEnumerable$1(enumerable,options)
;const withHidden=Get().enumerableKind?WithEnumerable$1(withEnumerable,hidden):WithHidden$1(withEnumerable,hidden)
;return Finalize(withHidden)}function Discard(value,propertyKeys){const result={};for(const key of Keys(value)){
if(propertyKeys.includes(key))continue;const descriptor=Object.getOwnPropertyDescriptor(value,key)
;Object.defineProperty(result,key,descriptor)}return Finalize(result)}
function WithCurrent(current,hiddenKeys,enumerableKeys,result){for(const key of Keys(current)){
if(IsUnsafePropertyKey(key)||hiddenKeys.includes(key)||enumerableKeys.includes(key))continue
;const descriptor=Object.getOwnPropertyDescriptor(current,key);Object.defineProperty(result,key,descriptor)}}
function WithHidden(hidden,keys,result){const enumerableKind=Get().enumerableKind;for(const key of keys){
if(IsUnsafePropertyKey(key))continue;Object.defineProperty(result,key,{configurable:true,writable:true,
enumerable:enumerableKind,value:hidden[key]})}}function WithEnumerable(enumerable,keys,result){for(const key of keys){
if(IsUnsafePropertyKey(key))continue;Object.defineProperty(result,key,{configurable:true,enumerable:true,writable:true,
value:enumerable[key]})}}function Update(current,hidden,enumerable){
const result={},hiddenKeys=Keys(hidden),enumerableKeys=Keys(enumerable)
;WithCurrent(current,hiddenKeys,enumerableKeys,result);WithHidden(hidden,hiddenKeys,result)
;WithEnumerable(enumerable,enumerableKeys,result);return Finalize(result)}function IsKind(value,kind){
return IsObject$1(value)&&HasPropertyKey(value,"~kind")&&IsEqual(value["~kind"],kind)}function IsSchema(value){
return IsObject$1(value)}function Deferred(action,parameters,options){return Create({"~kind":"Deferred"},{
type:"deferred",action:action,parameters:parameters,options:options},{})}function IsDeferred(value){
return IsKind(value,"Deferred")}function AddReadonlyAction(type,options){const result=Update(type,{"~readonly":true
},options);return result}function AddReadonlyInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return AddReadonlyAction(instantiatedType,options)}
function AddOptionalAction(type,options){const result=Update(type,{"~optional":true},options);return result}
function AddOptionalInstantiate(context,state,type,options){const instantiatedType=InstantiateType(context,state,type)
;return AddOptionalAction(instantiatedType,options)}function _Array_(items,options){return Create({"~kind":"Array"},{
type:"array",items:items},options)}function IsArray(value){return IsKind(value,"Array")}function ArrayOptions(type){
return Discard(type,["~kind","type","items"])}function Constructor(parameters,instanceType,options={}){return Create({
"~kind":"Constructor"},{type:"constructor",parameters:parameters,instanceType:instanceType},options)}
function IsConstructor(value){return IsKind(value,"Constructor")}function ConstructorOptions(type){
return Discard(type,["~kind","type","parameters","instanceType"])}function _Function_(parameters,returnType,options={}){
return Create({["~kind"]:"Function"},{type:"function",parameters:parameters,returnType:returnType},options)}
function IsFunction(value){return IsKind(value,"Function")}function FunctionOptions(type){
return Discard(type,["~kind","type","parameters","returnType"])}function Ref(ref,options){return Create({["~kind"]:"Ref"
},{$ref:ref},options)}function IsRef(value){return IsKind(value,"Ref")}function Generic(parameters,expression){
return Create({"~kind":"Generic"},{type:"generic",parameters:parameters,expression:expression})}
function IsGeneric(value){return IsKind(value,"Generic")}function Any(options){return Create({["~kind"]:"Any"
},{},options)}function IsAny(value){return IsKind(value,"Any")}const NeverPattern="(?!)";function Never(options){
return Create({"~kind":"Never"},{not:{}},options)}function IsNever(value){return IsKind(value,"Never")}
function AddOptional(type,options={}){return AddOptionalAction(type,options)}function Optional(type){
return AddOptional(type)}function IsOptional(value){return IsSchema(value)&&HasPropertyKey(value,"~optional")}
function RequiredArray(properties){return Keys$1(properties).filter(key=>!IsOptional(properties[key]))}
function PropertyKeys(properties){return Keys$1(properties)}function PropertyValues(properties){
return Values(properties)}function _Object_(properties,options={}){const requiredKeys=RequiredArray(properties)
;const required=requiredKeys.length>0?{required:requiredKeys}:{};return Create({"~kind":"Object"},{type:"object",
...required,properties:properties},options)}function IsObject(value){return IsKind(value,"Object")}
function ObjectOptions(type){return Discard(type,["~kind","type","properties","required"])}function Unknown(options){
return Create({["~kind"]:"Unknown"},{},options)}function IsUnknown(value){return IsKind(value,"Unknown")}
function Cyclic($defs,$ref,options){const defs=Keys$1($defs).reduce((result,key)=>({...result,
[key]:Update($defs[key],{},{$id:key})}),{});return Create({["~kind"]:"Cyclic"},{$defs:defs,$ref:$ref},options)}
function IsCyclic(value){return IsKind(value,"Cyclic")}function IsUnsafe(value){
return IsObjectNotArray(value)&&HasPropertyKey(value,"~unsafe")&&IsNull$1(value["~unsafe"])}function IsInfer(value){
return IsKind(value,"Infer")}function Dependent(if_,then_,else_,options={}){return Create({"~kind":"Dependent"},{if:if_,
then:then_,else:else_},options)}function IsDependent(value){return IsKind(value,"Dependent")}
function DependentOptions(type){return Discard(type,["~kind","if","then","else"])}function IsTypeScriptEnumLike(value){
return IsObjectNotArray(value)}function TypeScriptEnumToEnumValues(type){const keys=Keys$1(type).filter(key=>isNaN(key))
;return keys.reduce((result,key)=>[...result,type[key]],[])}function Enum(value,options){
const values=IsTypeScriptEnumLike(value)?TypeScriptEnumToEnumValues(value):value;return Create({"~kind":"Enum"},{
enum:values},options)}function IsEnum(value){return IsKind(value,"Enum")}function Intersect(types,options={}){
return Create({"~kind":"Intersect"},{allOf:types},options)}function IsIntersect(value){return IsKind(value,"Intersect")}
function IntersectOptions(type){return Discard(type,["~kind","allOf"])}function Unreachable(){
throw new Error("Unreachable")}function IsImmutable(value){return IsSchema(value)&&HasPropertyKey(value,"~immutable")}
function AddReadonly(type,options={}){return AddReadonlyAction(type,options)}function IsReadonly(value){
return IsSchema(value)&&HasPropertyKey(value,"~readonly")}const BigIntPattern="-?(?:0|[1-9][0-9]*)n"
;function BigInt(options){return Create({"~kind":"BigInt"},{type:"bigint"},options)}function IsBigInt(value){
return IsKind(value,"BigInt")}function Boolean(options){return Create({"~kind":"Boolean"},{type:"boolean"},options)}
function IsBoolean(value){return IsKind(value,"Boolean")}const IntegerPattern="-?(?:0|[1-9][0-9]*)"
;function Integer(options){return Create({"~kind":"Integer"},{type:"integer"},options)}function IsInteger(value){
return IsKind(value,"Integer")}class InvalidLiteralValue extends Error{constructor(value){super(`Invalid Literal value`)
;Object.defineProperty(this,"cause",{value:{value:value},writable:false,configurable:false,enumerable:false})}}
function LiteralTypeName(value){
return IsBigInt$1(value)?"bigint":IsBoolean$1(value)?"boolean":IsNumber$1(value)?"number":IsString$1(value)?"string":(()=>{
throw new InvalidLiteralValue(value)})()}function Literal(value,options){return Create({"~kind":"Literal"},{
type:LiteralTypeName(value),const:value},options)}function IsLiteralValue(value){
return IsBigInt$1(value)||IsBoolean$1(value)||IsNumber$1(value)||IsString$1(value)}function IsLiteralNumber(value){
return IsLiteral(value)&&IsNumber$1(value.const)}function IsLiteralString(value){
return IsLiteral(value)&&IsString$1(value.const)}function IsLiteral(value){return IsKind(value,"Literal")}
function Null(options){return Create({"~kind":"Null"},{type:"null"},options)}function IsNull(value){
return IsKind(value,"Null")}const NumberPattern="-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?";function Number$1(options){
return Create({"~kind":"Number"},{type:"number"},options)}function IsNumber(value){return IsKind(value,"Number")}
function Symbol(options){return Create({"~kind":"Symbol"},{type:"symbol"},options)}function IsSymbol(value){
return IsKind(value,"Symbol")}const StringPattern=".*";function String$1(options){return Create({"~kind":"String"},{
type:"string"},options)}function IsString(value){return IsKind(value,"String")}function Union(anyOf,options={}){
return Create({"~kind":"Union"},{anyOf:anyOf},options)}function IsUnion(value){return IsKind(value,"Union")}
function UnionOptions(type){return Discard(type,["~kind","anyOf"])}function ParsePatternIntoTypes(pattern){
const parsed=Pattern(pattern);const result=IsEqual(parsed.length,2)?parsed[0]:[];return result}
function FromLiteral$4(_value){return true}function FromTypesReduce(types){
return ShiftLeft(types,(left,right)=>FromType$h(left)?FromTypesReduce(right):false,()=>true)}
function FromTypes$4(types){const result=IsEqual(types.length,0)?false:FromTypesReduce(types);return result}
function FromType$h(type){return IsUnion(type)?FromTypes$4(type.anyOf):IsLiteral(type)?FromLiteral$4(type.const):false}
function IsTemplateLiteralFinite(types){const result=FromTypes$4(types);return result}
function TemplateLiteralCreate(pattern){return Create({["~kind"]:"TemplateLiteral"},{type:"string",pattern:pattern},{})}
function FromLiteralPush(variants,value,result=[]){
return ShiftLeft(variants,(left,right)=>FromLiteralPush(right,value,[...result,`${left}${value}`]),()=>result)}
function FromLiteral$3(variants,value){return IsEqual(variants.length,0)?[`${value}`]:FromLiteralPush(variants,value)}
function FromUnion$7(variants,types,result=[]){
return ShiftLeft(types,(left,right)=>FromUnion$7(variants,right,[...result,...FromType$g(variants,left)]),()=>result)}
function FromType$g(variants,type){
const result=IsUnion(type)?FromUnion$7(variants,type.anyOf):IsLiteral(type)?FromLiteral$3(variants,type.const):Unreachable()
;return result}function DecodeFromSpan(variants,types){
return ShiftLeft(types,(left,right)=>DecodeFromSpan(FromType$g(variants,left),right),()=>variants)}
function VariantsToLiterals(variants){return variants.map(variant=>Literal(variant))}function DecodeTypesAsUnion(types){
const variants=DecodeFromSpan([],types);const literals=VariantsToLiterals(variants);const result=Union(literals)
;return result}function DecodeTypes(types){
return IsEqual(types.length,0)?Unreachable():IsEqual(types.length,1)&&IsLiteral(types[0])?types[0]:DecodeTypesAsUnion(types)
}function TemplateLiteralDecodeUnsafe(pattern){const types=ParsePatternIntoTypes(pattern)
;const result=IsEqual(types.length,0)?String$1():IsTemplateLiteralFinite(types)?DecodeTypes(types):TemplateLiteralCreate(pattern)
;return result}function TemplateLiteralDecode(pattern){const decoded=TemplateLiteralDecodeUnsafe(pattern)
;const result=IsTemplateLiteral(decoded)?String$1():decoded;return result}function CreateRecord(key,value){
const type="object";const patternProperties={[key]:value};return Create({["~kind"]:"Record"},{type:type,
patternProperties:patternProperties})}function FromAnyKey(value){return CreateRecord(StringKey,value)}
function FromBooleanKey(value){return _Object_({true:value,false:value})}function Tuple(types,options={}){
const[items,minItems,additionalItems]=[types,types.length,false];return Create({["~kind"]:"Tuple"},{type:"array",
additionalItems:additionalItems,items:items,minItems:minItems},options)}function IsTuple(value){
return IsKind(value,"Tuple")}function TupleOptions(type){
return Discard(type,["~kind","type","items","minItems","additionalItems"])}function TupleElementsToProperties(types){
const result=types.reduceRight((result,right,index)=>({[index]:right,...result}),{});return result}
function TupleToObject(type){const properties=TupleElementsToProperties(type.items);const result=_Object_(properties)
;return result}function RemoveOptionalOperation(type){return Discard(type,["~optional"])}
function RemoveOptionalAction(type,options){const result=Update(RemoveOptionalOperation(type),{},options);return result}
function RemoveOptionalInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return RemoveOptionalAction(instantiatedType,options)}
function RemoveReadonlyOperation(type){return Discard(type,["~readonly"])}function RemoveReadonlyAction(type,options){
const result=Update(RemoveReadonlyOperation(type),{},options);return result}
function RemoveReadonlyInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return RemoveReadonlyAction(instantiatedType,options)}
function EvaluatePropertyIntersect(left,right){const isReadonly=IsReadonly(left)&&IsReadonly(right)
;const isOptional=IsOptional(left)&&IsOptional(right);const evaluated=EvaluateIntersect([left,right])
;const property=RemoveReadonlyAction(RemoveOptionalAction(evaluated,{}),{})
;return isReadonly&&isOptional?AddReadonlyAction(AddOptionalAction(property,{}),{}):isReadonly?AddReadonlyAction(property,{}):isOptional?AddOptionalAction(property,{}):property
}function EvaluatePropertyUnion(left,right){const isReadonly=IsReadonly(left)||IsReadonly(right)
;const isOptional=IsOptional(left)||IsOptional(right)
;const leftProperty=RemoveReadonlyAction(RemoveOptionalAction(left,{}),{})
;const rightProperty=RemoveReadonlyAction(RemoveOptionalAction(right,{}),{})
;const property=EvaluateUnion([leftProperty,rightProperty])
;return isReadonly&&isOptional?AddReadonlyAction(AddOptionalAction(property,{}),{}):isReadonly?AddReadonlyAction(property,{}):isOptional?AddOptionalAction(property,{}):property
}function CompositePropertyKey(left,right,key){
return key in left?key in right?EvaluatePropertyIntersect(left[key],right[key]):left[key]:key in right?right[key]:Never()
}function CompositeProperties(left,right){const keys=new Set([...Keys$1(left),...Keys$1(right)])
;const result=[...keys].reduce((result,key)=>({...result,[key]:CompositePropertyKey(left,right,key)}),{});return result}
function GetProperties(type){
const result=IsObject(type)?type.properties:IsTuple(type)?TupleElementsToProperties(type.items):{};return result}
function Composite(left,right){const leftProperties=GetProperties(left);const rightProperties=GetProperties(right)
;const properties=CompositeProperties(leftProperties,rightProperties);const result=_Object_(properties);return result}
function NarrowCompareRule(left,right){const result=Compare(left,right)
;return IsEqual(result,CompareResultLeftInside)?left:IsEqual(result,CompareResultRightInside)?right:IsEqual(result,CompareResultEqual)?right:Never()
}function CanComposite(type){return IsObject(type)||IsTuple(type)}function NarrowCompositeRule(left,right){
const canCompositeLeft=CanComposite(left);const canCompositeRight=CanComposite(right)
;return canCompositeLeft&&canCompositeRight?Composite(left,right):canCompositeLeft&&!canCompositeRight?left:!canCompositeLeft&&canCompositeRight?right:NarrowCompareRule(left,right)
}function Narrow(left,right){
return IsNever(left)?left:IsAny(left)?left:IsUnknown(left)?right:IsNever(right)?right:IsAny(right)?right:IsUnknown(right)?left:NarrowCompositeRule(left,right)
}function ShouldEvaluate(left,right){const result=IsUnion(left)||IsUnion(right);return result}
function DistributeOperation(left,right){const evaluatedLeft=EvaluateType(left);const evaluatedRight=EvaluateType(right)
;const shouldEvaluate=ShouldEvaluate(evaluatedLeft,evaluatedRight)
;const result=shouldEvaluate?EvaluateIntersect([evaluatedLeft,evaluatedRight]):Narrow(evaluatedLeft,evaluatedRight)
;return result}function DistributeType(type,types,result=[]){
return ShiftLeft(types,(left,right)=>DistributeType(type,right,[...result,DistributeOperation(left,type)]),()=>IsEqual(result.length,0)?[type]:result)
}function DistributeUnion(types,distribution,result=[]){
return ShiftLeft(types,(left,right)=>DistributeUnion(right,distribution,[...result,...Distribute$1([left],distribution)]),()=>result)
}function Distribute$1(types,result=[]){
return ShiftLeft(types,(left,right)=>IsUnion(left)?Distribute$1(right,DistributeUnion(left.anyOf,result)):Distribute$1(right,DistributeType(left,result)),()=>result)
}function ExcludeType(left,right){const check=Extends({},left,right);const result=IsExtendsTrueLike(check)?[]:[left]
;return result}function ExcludeUnion(left,right,result=[]){
return ShiftLeft(left,(head,tail)=>ExcludeUnion(tail,right,[...result,...ExcludeType(head,right)]),()=>result)}
function ExcludeOperation(left,right){const evaluated=EvaluateType(left)
;const canonical=IsUnion(evaluated)?evaluated.anyOf:[evaluated];const remaining=ExcludeUnion(canonical,right)
;const result=EvaluateUnion(remaining);return result}function EvaluateDependent(if_,then_,else_){
const intersected=EvaluateIntersect([if_,then_]);const excluded=ExcludeOperation(else_,if_)
;const result=EvaluateUnion([intersected,excluded]);return result}function EvaluateEnum(values,result=[]){
return ShiftLeft(values,(left,right)=>EvaluateEnum(right,[...result,Literal(left)]),()=>EvaluateUnion(result))}
function EvaluateIntersect(types){const distribution=Distribute$1(types);const broadend=Broaden(distribution)
;const result=EvaluateUnion(broadend);return result}function EvaluateTemplateLiteral(pattern){
const evaluated=TemplateLiteralDecode(pattern);const result=EvaluateType(evaluated);return result}
function EvaluateUnion(types){const broadend=Broaden(types);const result=EvaluateUnionFast(broadend);return result}
function EvaluateType(type){
const result=IsDependent(type)?EvaluateDependent(type.if,type.then,type.else):IsEnum(type)?EvaluateEnum(type.enum):IsIntersect(type)?EvaluateIntersect(type.allOf):IsTemplateLiteral(type)?EvaluateTemplateLiteral(type.pattern):IsUnion(type)?EvaluateUnion(type.anyOf):type
;return result}function EvaluateUnionFast(types){
const result=IsEqual(types.length,1)?types[0]:IsEqual(types.length,0)?Never():Union(types);return result}
function FromEnumKey(values,value){const unionKey=EvaluateEnum(values);const result=FromKey(unionKey,value)
;return result}function FromIntegerKey(_key,value){const result=CreateRecord(IntegerKey,value);return result}
function FromIntersectKey(types,value){const evaluatedKey=EvaluateIntersect(types)
;const result=FromKey(evaluatedKey,value);return result}function FromLiteralKey(key,value){
return IsString$1(key)||IsNumber$1(key)?_Object_({[key]:value}):IsEqual(key,false)?_Object_({false:value
}):IsEqual(key,true)?_Object_({true:value}):_Object_({})}function FromNumberKey(_key,value){
const result=CreateRecord(NumberKey,value);return result}function FromStringKey(key,value){
return HasPropertyKey(key,"pattern")&&(IsString$1(key.pattern)||key.pattern instanceof RegExp)?CreateRecord(key.pattern.toString(),value):CreateRecord(StringKey,value)
}function FromTemplateKey(pattern,value){const types=ParsePatternIntoTypes(pattern)
;const finite=IsTemplateLiteralFinite(types)
;const result=finite?FromKey(EvaluateTemplateLiteral(pattern),value):CreateRecord(pattern,value);return result}
function FlattenType(type){const result=IsUnion(type)?Flatten(type.anyOf):[type];return result}
function Flatten(types,result=[]){
return ShiftLeft(types,(left,right)=>Flatten(right,[...result,...FlattenType(left)]),()=>result)}
function StringOrNumberCheck(types){return types.some(type=>IsString(type)||IsNumber(type)||IsInteger(type))}
function TryBuildRecord(types,value){
return IsEqual(StringOrNumberCheck(types),true)?CreateRecord(StringKey,value):undefined}
function CreateProperties(types,value){
return types.reduce((result,left)=>IsLiteral(left)&&(IsString$1(left.const)||IsNumber$1(left.const))?{...result,
[left.const]:value}:result,{})}function CreateObject(types,value){const properties=CreateProperties(types,value)
;const result=_Object_(properties);return result}function FromUnionKey(types,value){const flattened=Flatten(types)
;const record=TryBuildRecord(flattened,value);return IsSchema(record)?record:CreateObject(flattened,value)}
function FromKey(key,value){
const result=IsAny(key)?FromAnyKey(value):IsBoolean(key)?FromBooleanKey(value):IsEnum(key)?FromEnumKey(key.enum,value):IsInteger(key)?FromIntegerKey(key,value):IsIntersect(key)?FromIntersectKey(key.allOf,value):IsLiteral(key)?FromLiteralKey(key.const,value):IsNumber(key)?FromNumberKey(key,value):IsUnion(key)?FromUnionKey(key.anyOf,value):IsString(key)?FromStringKey(key,value):IsTemplateLiteral(key)?FromTemplateKey(key.pattern,value):_Object_({})
;return result}function RecordAction(key,value,options){
const result=CanInstantiate([key])?Update(FromKey(key,value),{},options):RecordDeferred(key,value,options);return result
}function RecordInstantiate(context,state,key,value,options){const instantiatedKey=InstantiateType(context,state,key)
;const instantiatedValue=InstantiateType(context,state,value)
;return RecordAction(instantiatedKey,instantiatedValue,options)}const IntegerKey=`^${IntegerPattern}$`
;const NumberKey=`^${NumberPattern}$`;const StringKey=`^${StringPattern}$`
;function RecordDeferred(key,value,options={}){return Deferred("Record",[key,value],options)}
function Record(key,value,options={}){return RecordAction(key,value,options)}function RecordFromPattern(pattern,value){
return CreateRecord(pattern,value)}function RecordPatternToType(pattern){
const result=IsEqual(pattern,StringKey)?String$1():IsEqual(pattern,IntegerKey)?Integer():IsEqual(pattern,NumberKey)?Number$1():TemplateLiteralDecodeUnsafe(pattern)
;return result}function RecordPattern(type){return Keys$1(type.patternProperties)[0]}function RecordKey(type){
const pattern=RecordPattern(type);const result=RecordPatternToType(pattern);return result}function RecordValue(type){
return type.patternProperties[RecordPattern(type)]}function IsRecord(value){return IsKind(value,"Record")}
function Rest(type){return Create({"~kind":"Rest"},{type:"rest",items:type},{})}function IsRest(value){
return IsKind(value,"Rest")}function IsThis(value){return IsKind(value,"This")}function Undefined(options){
return Create({"~kind":"Undefined"},{type:"undefined"},options)}function IsUndefined(value){
return IsKind(value,"Undefined")}function IsVoid(value){return IsKind(value,"Void")}
function PatternBigIntMapping(input){return BigInt()}function PatternStringMapping(input){return String$1()}
function PatternNumberMapping(input){return Number$1()}function PatternIntegerMapping(input){return Integer()}
function PatternNeverMapping(input){return Never()}function PatternTextMapping(input){return Literal(input)}
function PatternBaseMapping(input){return input}function PatternGroupMapping(input){return Union(input[1])}
function PatternUnionMapping(input){return input.length===3?[...input[0],...input[2]]:input.length===1?[...input[0]]:[]}
function PatternTermMapping(input){return[input[0],...input[1]]}function PatternBodyMapping(input){return input}
function PatternMapping(input){return input[1]}function IsMatch(value){return IsEqual(value.length,2)}
function Match$1(input,ok,fail){return IsMatch(input)?ok(input[0],input[1]):fail()}function TakeVariant(variant,input){
return IsEqual(input.indexOf(variant),0)?[variant,input.slice(variant.length)]:[]}function Take(variants,input){
for(let i=0;i<variants.length;i++){const result=TakeVariant(variants[i],input);if(IsMatch(result))return result}return[]
}function Range(start,end){return Array.from({length:end-start+1},(_,i)=>String.fromCharCode(start+i))}
[...Range(97,122),...Range(65,90)];const Zero="0";const NonZero=Range(49,57);[Zero,...NonZero];const WhiteSpace=" "
;const NewLine="\n";const LineComment="//";const OpenComment="/*";const CloseComment="*/"
;function DiscardMultilineComment(input){const index=input.indexOf(CloseComment)
;const result=IsEqual(index,-1)?"":input.slice(index+2);return result}function DiscardLineComment(input){
const index=input.indexOf(NewLine);const result=IsEqual(index,-1)?"":input.slice(index);return result}
function TrimStartUntilNewline(input){return input.replace(/^[ \t\r\f\v]+/,"")}function TrimWhitespace(input){
const trimmed=TrimStartUntilNewline(input)
;return trimmed.startsWith(OpenComment)?TrimWhitespace(DiscardMultilineComment(trimmed.slice(2))):trimmed.startsWith(LineComment)?TrimWhitespace(DiscardLineComment(trimmed.slice(2))):trimmed
}function Trim(input){const trimmed=input.trimStart()
;return trimmed.startsWith(OpenComment)?Trim(DiscardMultilineComment(trimmed.slice(2))):trimmed.startsWith(LineComment)?Trim(DiscardLineComment(trimmed.slice(2))):trimmed
}function TakeConst(const_,input){return Take([const_],input)}function Const(const_,input){
return IsEqual(const_,"")?["",input]:const_.startsWith(NewLine)?TakeConst(const_,TrimWhitespace(input)):const_.startsWith(WhiteSpace)?TakeConst(const_,input):TakeConst(const_,Trim(input))
}function TakeOne(input){const result=IsEqual(input,"")?[]:[input.slice(0,1),input.slice(1)];return result}
function IsInputMatchSentinal(end,input){
return ShiftLeft(end,(left,right)=>input.startsWith(left)?true:IsInputMatchSentinal(right,input),()=>false)}
function Until(end,input,result=""){
return Match$1(TakeOne(input),(One,Rest)=>IsInputMatchSentinal(end,input)?[result,input]:Until(end,Rest,`${result}${One}`),()=>[])
}function Until_1(end,input){
return Match$1(Until(end,input),(Until,UntilRest)=>IsEqual(Until,"")?[]:[Until,UntilRest],()=>[])}
const If=(result,left,right=()=>[])=>result.length===2?left(result):right()
;const PatternBigInt=input=>If(Const("-?(?:0|[1-9][0-9]*)n",input),([_0,input])=>[PatternBigIntMapping(),input])
;const PatternString=input=>If(Const(".*",input),([_0,input])=>[PatternStringMapping(),input])
;const PatternNumber=input=>If(Const("-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?",input),([_0,input])=>[PatternNumberMapping(),input])
;const PatternInteger=input=>If(Const("-?(?:0|[1-9][0-9]*)",input),([_0,input])=>[PatternIntegerMapping(),input])
;const PatternNever=input=>If(Const("(?!)",input),([_0,input])=>[PatternNeverMapping(),input])
;const PatternText=input=>If(Until_1(["-?(?:0|[1-9][0-9]*)n",".*","-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?","-?(?:0|[1-9][0-9]*)","(?!)","(",")","$","|"],input),([_0,input])=>[PatternTextMapping(_0),input])

;const PatternBase=input=>If(If(PatternBigInt(input),([_0,input])=>[_0,input],()=>If(PatternString(input),([_0,input])=>[_0,input],()=>If(PatternNumber(input),([_0,input])=>[_0,input],()=>If(PatternInteger(input),([_0,input])=>[_0,input],()=>If(PatternNever(input),([_0,input])=>[_0,input],()=>If(PatternGroup(input),([_0,input])=>[_0,input],()=>If(PatternText(input),([_0,input])=>[_0,input],()=>[]))))))),([_0,input])=>[PatternBaseMapping(_0),input])

;const PatternGroup=input=>If(If(Const("(",input),([_0,input])=>If(PatternBody(input),([_1,input])=>If(Const(")",input),([_2,input])=>[[_0,_1,_2],input]))),([_0,input])=>[PatternGroupMapping(_0),input])

;const PatternUnion=input=>If(If(If(PatternTerm(input),([_0,input])=>If(Const("|",input),([_1,input])=>If(PatternUnion(input),([_2,input])=>[[_0,_1,_2],input]))),([_0,input])=>[_0,input],()=>If(If(PatternTerm(input),([_0,input])=>[[_0],input]),([_0,input])=>[_0,input],()=>If([[],input],([_0,input])=>[_0,input],()=>[]))),([_0,input])=>[PatternUnionMapping(_0),input])

;const PatternTerm=input=>If(If(PatternBase(input),([_0,input])=>If(PatternBody(input),([_1,input])=>[[_0,_1],input])),([_0,input])=>[PatternTermMapping(_0),input])

;const PatternBody=input=>If(If(PatternUnion(input),([_0,input])=>[_0,input],()=>If(PatternTerm(input),([_0,input])=>[_0,input],()=>[])),([_0,input])=>[PatternBodyMapping(_0),input])

;const Pattern=input=>If(If(Const("^",input),([_0,input])=>If(PatternBody(input),([_1,input])=>If(Const("$",input),([_2,input])=>[[_0,_1,_2],input]))),([_0,input])=>[PatternMapping(_0),input])
;function JoinString(input){return input.join("|")}function UnwrapTemplateLiteralPattern(pattern){
return pattern.slice(1,pattern.length-1)}function EncodeLiteral(value,right,pattern){
return EncodeTypes(right,`${pattern}${value}`)}function EncodeBigInt(right,pattern){
return EncodeTypes(right,`${pattern}${BigIntPattern}`)}function EncodeInteger(right,pattern){
return EncodeTypes(right,`${pattern}${IntegerPattern}`)}function EncodeNumber(right,pattern){
return EncodeTypes(right,`${pattern}${NumberPattern}`)}function EncodeBoolean(right,pattern){
return EncodeType(Union([Literal("false"),Literal("true")]),right,pattern)}function EncodeString(right,pattern){
return EncodeTypes(right,`${pattern}${StringPattern}`)}function EncodeTemplateLiteral(templatePattern,right,pattern){
return EncodeTypes(right,`${pattern}${UnwrapTemplateLiteralPattern(templatePattern)}`)}
function EncodeTemplateLiteralDeferred(types,right,pattern){const templateLiteral=TemplateLiteralAction(types,{})
;const result=EncodeType(templateLiteral,right,pattern);return result}function EncodeEnum(values,right,pattern){
const evaluated=EvaluateEnum(values);return EncodeType(evaluated,right,pattern)}
function EncodeUnion(types,right,pattern,result=[]){
return ShiftLeft(types,(head,tail)=>EncodeUnion(tail,right,pattern,[...result,EncodeType(head,[],"")]),()=>EncodeTypes(right,`${pattern}(${JoinString(result)})`))
}function EncodeType(type,right,pattern){
return IsEnum(type)?EncodeEnum(type.enum,right,pattern):IsInteger(type)?EncodeInteger(right,pattern):IsLiteral(type)?EncodeLiteral(type.const,right,pattern):IsBigInt(type)?EncodeBigInt(right,pattern):IsBoolean(type)?EncodeBoolean(right,pattern):IsNumber(type)?EncodeNumber(right,pattern):IsString(type)?EncodeString(right,pattern):IsTemplateLiteral(type)?EncodeTemplateLiteral(type.pattern,right,pattern):IsTemplateLiteralDeferred(type)?EncodeTemplateLiteralDeferred(type.parameters[0],right,pattern):IsUnion(type)?EncodeUnion(type.anyOf,right,pattern):NeverPattern
}function EncodeTypes(types,pattern){return ShiftLeft(types,(left,right)=>EncodeType(left,right,pattern),()=>pattern)}
function EncodePattern(types){const encoded=EncodeTypes(types,"");const result=`^${encoded}$`;return result}
function TemplateLiteralEncode(types){const pattern=EncodePattern(types);const result=TemplateLiteralCreate(pattern)
;return result}function TemplateLiteralAction(types,options){
const result=CanInstantiate(types)?Update(TemplateLiteralEncode(types),{},options):TemplateLiteralDeferred(types,options)
;return result}function TemplateLiteralInstantiate(context,state,types,options){
const instantiatedTypes=InstantiateTypes(context,state,types);return TemplateLiteralAction(instantiatedTypes,options)}
function TemplateLiteralDeferred(types,options={}){return Deferred("TemplateLiteral",[types],options)}
function IsTemplateLiteralDeferred(value){
return IsSchema(value)&&HasPropertyKey(value,"action")&&IsEqual(value.action,"TemplateLiteral")}
function IsTemplateLiteral(value){return IsKind(value,"TemplateLiteral")}function ExtendsUnion$1(inferred){
return Create({["~kind"]:"ExtendsUnion"},{inferred:inferred})}function IsExtendsUnion(value){
return IsObject$1(value)&&HasPropertyKey(value,"~kind")&&HasPropertyKey(value,"inferred")&&IsEqual(value["~kind"],"ExtendsUnion")&&IsObject$1(value.inferred)
}function ExtendsTrue(inferred){return Create({["~kind"]:"ExtendsTrue"},{inferred:inferred})}
function IsExtendsTrue(value){
return IsObject$1(value)&&HasPropertyKey(value,"~kind")&&HasPropertyKey(value,"inferred")&&IsEqual(value["~kind"],"ExtendsTrue")&&IsObject$1(value.inferred)
}function ExtendsFalse(){return Create({["~kind"]:"ExtendsFalse"},{})}function IsExtendsFalse(value){
return IsObject$1(value)&&HasPropertyKey(value,"~kind")&&IsEqual(value["~kind"],"ExtendsFalse")}
function IsExtendsTrueLike(value){return IsExtendsUnion(value)||IsExtendsTrue(value)}
function Match(result,true_,false_){return IsExtendsTrueLike(result)?true_(result.inferred):false_()}
function ExtendsRightInfer(inferred,name,left,right){
return Match(ExtendsLeft(inferred,left,right),checkInferred=>ExtendsTrue(Assign(Assign(inferred,checkInferred),{
[name]:left})),()=>ExtendsFalse())}function ExtendsRightAny(inferred,_left){return ExtendsTrue(inferred)}
function ExtendsRightDependent(inferred,left,if_,then_,else_){
return Match(ExtendsLeft(inferred,left,if_),inferred=>Match(ExtendsLeft(inferred,left,then_),inferred=>ExtendsTrue(inferred),()=>ExtendsFalse()),()=>Match(ExtendsLeft(inferred,left,else_),inferred=>ExtendsTrue(inferred),()=>ExtendsFalse()))
}function ExtendsRightEnum(inferred,left,right){const evaluated=EvaluateEnum(right)
;return ExtendsLeft(inferred,left,evaluated)}function ExtendsRightIntersect(inferred,left,right){
return ShiftLeft(right,(head,tail)=>Match(ExtendsLeft(inferred,left,head),inferred=>ExtendsRightIntersect(inferred,left,tail),()=>ExtendsFalse()),()=>ExtendsTrue(inferred))
}function ExtendsRightTemplateLiteral(inferred,left,right){const evaluated=EvaluateTemplateLiteral(right)
;return ExtendsLeft(inferred,left,evaluated)}function ExtendsRightUnion(inferred,left,right){
return ShiftLeft(right,(head,tail)=>Match(ExtendsLeft(inferred,left,head),inferred=>ExtendsTrue(inferred),()=>ExtendsRightUnion(inferred,left,tail)),()=>ExtendsFalse())
}function ExtendsRight(inferred,left,right){
return IsAny(right)?ExtendsRightAny(inferred):IsDependent(right)?ExtendsRightDependent(inferred,left,right.if,right.then,right.else):IsEnum(right)?ExtendsRightEnum(inferred,left,right.enum):IsInfer(right)?ExtendsRightInfer(inferred,right.name,left,right.extends):IsIntersect(right)?ExtendsRightIntersect(inferred,left,right.allOf):IsTemplateLiteral(right)?ExtendsRightTemplateLiteral(inferred,left,right.pattern):IsUnion(right)?ExtendsRightUnion(inferred,left,right.anyOf):IsUnknown(right)?ExtendsTrue(inferred):ExtendsFalse()
}function ExtendsAny(inferred,left,right){
return IsInfer(right)?ExtendsRight(inferred,left,right):IsAny(right)?ExtendsTrue(inferred):IsUnknown(right)?ExtendsTrue(inferred):ExtendsUnion$1(inferred)
}function ExtendsImmutable(left,right){const isImmutableLeft=IsImmutable(left);const isImmutableRight=IsImmutable(right)
;return isImmutableLeft&&isImmutableRight?true:!isImmutableLeft&&isImmutableRight?true:isImmutableLeft&&!isImmutableRight?false:true
}function ExtendsArray(inferred,arrayLeft,left,right){
return IsArray(right)?ExtendsImmutable(arrayLeft,right)?ExtendsLeft(inferred,left,right.items):ExtendsFalse():ExtendsRight(inferred,arrayLeft,right)
}function ExtendsBigInt(inferred,left,right){
return IsBigInt(right)?ExtendsTrue(inferred):ExtendsRight(inferred,left,right)}
function ExtendsBoolean(inferred,left,right){
return IsBoolean(right)?ExtendsTrue(inferred):ExtendsRight(inferred,left,right)}
function ParameterCompare(inferred,left,leftRest,right,rightRest){const checkLeft=IsInfer(right)?left:right
;const checkRight=IsInfer(right)?right:left;const isLeftOptional=IsOptional(left)
;const isRightOptional=IsOptional(right)
;return!isLeftOptional&&isRightOptional?ExtendsFalse():Match(ExtendsLeft(inferred,checkLeft,checkRight),inferred=>ExtendsParameters(inferred,leftRest,rightRest),()=>ExtendsFalse())
}function ParameterRight(inferred,left,leftRest,rightRest){
return ShiftLeft(rightRest,(head,tail)=>ParameterCompare(inferred,left,leftRest,head,tail),()=>IsOptional(left)?ExtendsTrue(inferred):ExtendsFalse())
}function ParametersLeft(inferred,left,rightRest){
return ShiftLeft(left,(head,tail)=>ParameterRight(inferred,head,tail,rightRest),()=>ExtendsTrue(inferred))}
function ExtendsParameters(inferred,left,right){return ParametersLeft(inferred,left,right)}
function ExtendsReturnType(inferred,left,right){
return IsVoid(right)?ExtendsTrue(inferred):ExtendsLeft(inferred,left,right)}
function ExtendsConstructor(inferred,parameters,returnType,right){
return IsAny(right)?ExtendsTrue(inferred):IsUnknown(right)?ExtendsTrue(inferred):IsConstructor(right)?Match(ExtendsParameters(inferred,parameters,right["parameters"]),inferred=>ExtendsReturnType(inferred,returnType,right["instanceType"]),()=>ExtendsFalse()):ExtendsFalse()
}function ExtendsDependent(inferred,if_,then_,else_,right){
return Match(ExtendsLeft(inferred,if_,right),()=>ExtendsLeft(inferred,then_,right),()=>ExtendsLeft(inferred,else_,right))
}function ExtendsEnum(inferred,left,right){const evaluated=EvaluateEnum(left)
;return ExtendsLeft(inferred,evaluated,right)}function ExtendsFunction(inferred,parameters,returnType,right){
return IsAny(right)?ExtendsTrue(inferred):IsUnknown(right)?ExtendsTrue(inferred):IsFunction(right)?Match(ExtendsParameters(inferred,parameters,right["parameters"]),inferred=>ExtendsReturnType(inferred,returnType,right["returnType"]),()=>ExtendsFalse()):ExtendsFalse()
}function ExtendsInteger(inferred,left,right){
return IsInteger(right)?ExtendsTrue(inferred):IsNumber(right)?ExtendsTrue(inferred):ExtendsRight(inferred,left,right)}
function ExtendsIntersect(inferred,left,right){const evaluated=EvaluateIntersect(left)
;return ExtendsLeft(inferred,evaluated,right)}function ExtendsLiteralValue(inferred,left,right){
return left===right?ExtendsTrue(inferred):ExtendsFalse()}function ExtendsLiteralBigInt(inferred,left,right){
return IsLiteral(right)?ExtendsLiteralValue(inferred,left,right.const):IsBigInt(right)?ExtendsTrue(inferred):ExtendsRight(inferred,Literal(left),right)
}function ExtendsLiteralBoolean(inferred,left,right){
return IsLiteral(right)?ExtendsLiteralValue(inferred,left,right.const):IsBoolean(right)?ExtendsTrue(inferred):ExtendsRight(inferred,Literal(left),right)
}function ExtendsLiteralNumber(inferred,left,right){
return IsLiteral(right)?ExtendsLiteralValue(inferred,left,right.const):IsNumber(right)?ExtendsTrue(inferred):ExtendsRight(inferred,Literal(left),right)
}function ExtendsLiteralString(inferred,left,right){
return IsLiteral(right)?ExtendsLiteralValue(inferred,left,right.const):IsString(right)?ExtendsTrue(inferred):ExtendsRight(inferred,Literal(left),right)
}function ExtendsLiteral(inferred,left,right){
return IsBigInt$1(left.const)?ExtendsLiteralBigInt(inferred,left.const,right):IsBoolean$1(left.const)?ExtendsLiteralBoolean(inferred,left.const,right):IsNumber$1(left.const)?ExtendsLiteralNumber(inferred,left.const,right):IsString$1(left.const)?ExtendsLiteralString(inferred,left.const,right):Unreachable()
}function ExtendsNever(inferred,left,right){
return IsInfer(right)?ExtendsRight(inferred,left,right):ExtendsTrue(inferred)}function ExtendsNull(inferred,left,right){
return IsNull(right)?ExtendsTrue(inferred):ExtendsRight(inferred,left,right)}
function ExtendsNumber(inferred,left,right){
return IsNumber(right)?ExtendsTrue(inferred):ExtendsRight(inferred,left,right)}
function ExtendsPropertyOptional(inferred,left,right){
return IsOptional(left)?IsOptional(right)?ExtendsTrue(inferred):ExtendsFalse():ExtendsTrue(inferred)}
function ExtendsProperty(inferred,left,right){
return IsInfer(right)&&IsNever(right.extends)?ExtendsFalse():Match(ExtendsLeft(inferred,left,right),inferred=>ExtendsPropertyOptional(inferred,left,right),()=>ExtendsFalse())
}function ExtractInferredProperties(keys,properties){
return keys.reduce((result,key)=>key in properties?IsExtendsTrueLike(properties[key])?{...result,
...properties[key].inferred}:Unreachable():Unreachable(),{})}function ExtendsPropertiesComparer(inferred,left,right){
const properties={};for(const rightKey of Keys$1(right)){
properties[rightKey]=rightKey in left?ExtendsProperty({},left[rightKey],right[rightKey]):IsOptional(right[rightKey])?IsInfer(right[rightKey])?ExtendsTrue(Assign(inferred,{
[right[rightKey].name]:right[rightKey].extends})):ExtendsTrue(inferred):ExtendsFalse()}
const checked=Values(properties).every(result=>IsExtendsTrueLike(result))
;const extracted=checked?ExtractInferredProperties(Keys$1(properties),properties):{}
;return checked?ExtendsTrue(extracted):ExtendsFalse()}function ExtendsProperties(inferred,left,right){
const compared=ExtendsPropertiesComparer(inferred,left,right)
;return IsExtendsTrueLike(compared)?ExtendsTrue(Assign(inferred,compared.inferred)):ExtendsFalse()}
function ExtendsObjectToObject(inferred,left,right){return ExtendsProperties(inferred,left,right)}
function RecordMergeInferred(left,right){return Keys$1(right).reduce((result,key)=>({...result,
[key]:HasPropertyKey(left,key)?IsUnion(result[key])?Union([...result[key].anyOf,right[key]]):Union([left[key],right[key]]):right[key]
}),left)}function ExtendsRecordComparer(properties,keys,type,result){
return ShiftLeft(keys,(left,right)=>Match(ExtendsLeft({},properties[left],type),inferred=>ExtendsRecordComparer(properties,right,type,RecordMergeInferred(result,inferred)),()=>ExtendsFalse()),()=>ExtendsTrue(result))
}function ExtendsObjectToRecord(inferred,properties,_pattern,value){const keys=Keys$1(properties)
;const result=ExtendsRecordComparer(properties,keys,value,inferred);return result}
function ExtendsObject(inferred,left,right){
return IsRecord(right)?ExtendsObjectToRecord(inferred,left,RecordPattern(right),RecordValue(right)):IsObject(right)?ExtendsObjectToObject(inferred,left,right.properties):ExtendsRight(inferred,_Object_(left),right)
}function FromObject$6(inferred,properties){
return IsEqual(Keys$1(properties).length,0)?ExtendsTrue(inferred):ExtendsFalse()}
function FromRecord$1(inferred,_leftKey,leftValue,_rightKey,rightValue){
return ExtendsLeft(inferred,leftValue,rightValue)}function ExtendsRecord(inferred,leftPattern,leftValue,right){
return IsRecord(right)?FromRecord$1(inferred,RecordPatternToType(leftPattern),leftValue,RecordPatternToType(RecordPattern(right)),RecordValue(right)):IsObject(right)?FromObject$6(inferred,right.properties):IsAny(right)?ExtendsTrue(inferred):IsUnknown(right)?ExtendsTrue(inferred):ExtendsFalse()
}function ExtendsString(inferred,left,right){
return IsString(right)?ExtendsTrue(inferred):ExtendsRight(inferred,left,right)}
function ExtendsSymbol(inferred,left,right){
return IsSymbol(right)?ExtendsTrue(inferred):ExtendsRight(inferred,left,right)}
function ExtendsTemplateLiteral(inferred,left,right){const evaluated=EvaluateTemplateLiteral(left)
;return ExtendsLeft(inferred,evaluated,right)}function Inferrable(name,type){return Create({"~kind":"Inferrable"},{
name:name,type:type},{})}function IsInferable(value){
return IsObject$1(value)&&HasPropertyKey(value,"~kind")&&HasPropertyKey(value,"name")&&HasPropertyKey(value,"type")&&IsEqual(value["~kind"],"Inferrable")&&IsString$1(value.name)&&IsObject$1(value.type)
}function TryRestInferable(type){
return IsRest(type)?IsInfer(type.items)?IsArray(type.items.extends)?Inferrable(type.items.name,type.items.extends.items):IsUnknown(type.items.extends)?Inferrable(type.items.name,type.items.extends):undefined:Unreachable():undefined
}function TryInferable(type){return IsInfer(type)?Inferrable(type.name,type.extends):undefined}
function TryInferResults(rest,right){const result=[];for(const head of rest){
if(!IsExtendsTrueLike(ExtendsLeft({},head,right)))return undefined;result.push(head)}return result}
function InferTupleResult(inferred,name,left,right){const results=TryInferResults(left,right)
;return IsArray$1(results)?ExtendsTrue(Assign(inferred,{[name]:Tuple(results)})):ExtendsFalse()}
function InferUnionResult(inferred,name,left,right){const results=TryInferResults(left,right)
;return IsArray$1(results)?ExtendsTrue(Assign(inferred,{[name]:Union(results)})):ExtendsFalse()}function Reverse(types){
return[...types].reverse()}function ApplyReverse(types,reversed){return reversed?Reverse(types):types}
function Reversed(types){const first=types.length>0?types[0]:undefined
;const inferrable=IsSchema(first)?TryRestInferable(first):undefined;return IsSchema(inferrable)}
function ElementsCompare(inferred,reversed,left,leftRest,right,rightRest){
return Match(ExtendsLeft(inferred,left,right),checkInferred=>Elements(checkInferred,reversed,leftRest,rightRest),()=>ExtendsFalse())
}function ElementsLeft(inferred,reversed,leftRest,right,rightRest){const inferable=TryRestInferable(right)
;return IsInferable(inferable)?InferTupleResult(inferred,inferable["name"],ApplyReverse(leftRest,reversed),inferable["type"]):ShiftLeft(leftRest,(head,tail)=>ElementsCompare(inferred,reversed,head,tail,right,rightRest),()=>ExtendsFalse())
}function ElementsRight(inferred,reversed,leftRest,rightRest){
return ShiftLeft(rightRest,(head,tail)=>ElementsLeft(inferred,reversed,leftRest,head,tail),()=>IsEqual(leftRest.length,0)?ExtendsTrue(inferred):ExtendsFalse())
}function Elements(inferred,reversed,leftRest,rightRest){return ElementsRight(inferred,reversed,leftRest,rightRest)}
function ExtendsTupleToTuple(inferred,left,right){
const instantiatedRight=InstantiateElements(inferred,State([],[]),right);const reversed=Reversed(instantiatedRight)
;return Elements(inferred,reversed,ApplyReverse(left,reversed),ApplyReverse(instantiatedRight,reversed))}
function ExtendsTupleToArrayReduce(inferred,left,right){for(const head of left){
const result=ExtendsLeft(inferred,head,right);if(!IsExtendsTrueLike(result))return result;inferred=result.inferred}
return ExtendsTrue(inferred)}function ExtendsTupleToArray(inferred,left,right){const inferrable=TryInferable(right)
;return IsInferable(inferrable)?InferUnionResult(inferred,inferrable["name"],left,inferrable["type"]):ExtendsTupleToArrayReduce(inferred,left,right)
}function ExtendsTuple(inferred,left,right){const instantiatedLeft=InstantiateElements(inferred,State([],[]),left)
;return IsTuple(right)?ExtendsTupleToTuple(inferred,instantiatedLeft,right.items):IsArray(right)?ExtendsTupleToArray(inferred,instantiatedLeft,right.items):ExtendsRight(inferred,Tuple(instantiatedLeft),right)
}function ExtendsUndefined(inferred,left,right){
return IsVoid(right)?ExtendsTrue(inferred):IsUndefined(right)?ExtendsTrue(inferred):ExtendsRight(inferred,left,right)}
function ExtendsUnionSome(inferred,type,unionTypes){
return ShiftLeft(unionTypes,(head,tail)=>Match(ExtendsLeft(inferred,type,head),inferred=>ExtendsTrue(inferred),()=>ExtendsUnionSome(inferred,type,tail)),()=>ExtendsFalse())
}function ExtendsUnionLeft(inferred,left,right){
return ShiftLeft(left,(head,tail)=>Match(ExtendsUnionSome(inferred,head,right),inferred=>ExtendsUnionLeft(inferred,tail,right),()=>ExtendsFalse()),()=>ExtendsTrue(inferred))
}function ExtendsUnion(inferred,left,right){const inferrable=TryInferable(right)
;return IsInferable(inferrable)?InferUnionResult(inferred,inferrable.name,left,inferrable.type):IsUnion(right)?ExtendsUnionLeft(inferred,left,right.anyOf):ExtendsUnionLeft(inferred,left,[right])
}function ExtendsUnknown(inferred,left,right){
return IsInfer(right)?ExtendsRight(inferred,left,right):IsAny(right)?ExtendsTrue(inferred):IsUnknown(right)?ExtendsTrue(inferred):ExtendsFalse()
}function ExtendsVoid(inferred,left,right){return IsVoid(right)?ExtendsTrue(inferred):ExtendsRight(inferred,left,right)}
function ExtendsLeft(inferred,left,right){
return IsAny(left)?ExtendsAny(inferred,left,right):IsArray(left)?ExtendsArray(inferred,left,left.items,right):IsBigInt(left)?ExtendsBigInt(inferred,left,right):IsBoolean(left)?ExtendsBoolean(inferred,left,right):IsConstructor(left)?ExtendsConstructor(inferred,left.parameters,left.instanceType,right):IsDependent(left)?ExtendsDependent(inferred,left.if,left.then,left.else,right):IsEnum(left)?ExtendsEnum(inferred,left.enum,right):IsFunction(left)?ExtendsFunction(inferred,left.parameters,left.returnType,right):IsInteger(left)?ExtendsInteger(inferred,left,right):IsIntersect(left)?ExtendsIntersect(inferred,left.allOf,right):IsLiteral(left)?ExtendsLiteral(inferred,left,right):IsNever(left)?ExtendsNever(inferred,left,right):IsNull(left)?ExtendsNull(inferred,left,right):IsNumber(left)?ExtendsNumber(inferred,left,right):IsObject(left)?ExtendsObject(inferred,left.properties,right):IsRecord(left)?ExtendsRecord(inferred,RecordPattern(left),RecordValue(left),right):IsString(left)?ExtendsString(inferred,left,right):IsSymbol(left)?ExtendsSymbol(inferred,left,right):IsTemplateLiteral(left)?ExtendsTemplateLiteral(inferred,left.pattern,right):IsTuple(left)?ExtendsTuple(inferred,left.items,right):IsUndefined(left)?ExtendsUndefined(inferred,left,right):IsUnion(left)?ExtendsUnion(inferred,left.anyOf,right):IsUnknown(left)?ExtendsUnknown(inferred,left,right):IsVoid(left)?ExtendsVoid(inferred,left,right):ExtendsFalse()
}function InterfaceOperation(heritage,properties){const result=EvaluateIntersect([...heritage,_Object_(properties)])
;return result}function InterfaceAction(heritage,properties,options){
const result=CanInstantiate(heritage)?Update(InterfaceOperation(heritage,properties),{},options):InterfaceDeferred(heritage,properties,options)
;return result}function InterfaceInstantiate(context,state,heritage,properties,options){
const instantiatedHeritage=InstantiateTypes(context,state,heritage)
;const instantiatedProperties=InstantiateProperties(context,state,properties)
;return InterfaceAction(instantiatedHeritage,instantiatedProperties,options)}
function InterfaceDeferred(heritage,properties,options={}){return Deferred("Interface",[heritage,properties],options)}
function IsInterfaceDeferred(value){
return IsSchema(value)&&HasPropertyKey(value,"action")&&IsEqual(value.action,"Interface")}
function FromRef$3(stack,context,ref){return stack.includes(ref)?true:FromType$f([...stack,ref],context,context[ref])}
function FromProperties$2(stack,context,properties){const types=PropertyValues(properties)
;return FromTypes$3(stack,context,types)}function FromTypes$3(stack,context,types){
return ShiftLeft(types,(left,right)=>FromType$f(stack,context,left)?true:FromTypes$3(stack,context,right),()=>false)}
function FromType$f(stack,context,type){
return IsRef(type)?FromRef$3(stack,context,type.$ref):IsArray(type)?FromType$f(stack,context,type.items):IsConstructor(type)?FromTypes$3(stack,context,[...type.parameters,type.instanceType]):IsFunction(type)?FromTypes$3(stack,context,[...type.parameters,type.returnType]):IsInterfaceDeferred(type)?FromProperties$2(stack,context,type.parameters[1]):IsIntersect(type)?FromTypes$3(stack,context,type.allOf):IsObject(type)?FromProperties$2(stack,context,type.properties):IsUnion(type)?FromTypes$3(stack,context,type.anyOf):IsTuple(type)?FromTypes$3(stack,context,type.items):IsRecord(type)?FromType$f(stack,context,RecordValue(type)):false
}function CyclicCheck(stack,context,type){const result=FromType$f(stack,context,type);return result}
function ResolveCandidateKeys(context,keys){
return keys.reduce((result,left)=>CyclicCheck([left],context,context[left])?[...result,left]:result,[])}
function CyclicCandidates(context){const keys=PropertyKeys(context);const result=ResolveCandidateKeys(context,keys)
;return result}function FromRef$2(context,ref,result){
return result.includes(ref)?result:ref in context?FromType$e(context,context[ref],[...result,ref]):Unreachable()}
function FromProperties$1(context,properties,result){const types=PropertyValues(properties)
;return FromTypes$2(context,types,result)}function FromTypes$2(context,types,result){
return types.reduce((result,left)=>FromType$e(context,left,result),result)}function FromType$e(context,type,result){
return IsRef(type)?FromRef$2(context,type.$ref,result):IsArray(type)?FromType$e(context,type.items,result):IsConstructor(type)?FromTypes$2(context,[...type.parameters,type.instanceType],result):IsFunction(type)?FromTypes$2(context,[...type.parameters,type.returnType],result):IsInterfaceDeferred(type)?FromProperties$1(context,type.parameters[1],result):IsIntersect(type)?FromTypes$2(context,type.allOf,result):IsObject(type)?FromProperties$1(context,type.properties,result):IsUnion(type)?FromTypes$2(context,type.anyOf,result):IsTuple(type)?FromTypes$2(context,type.items,result):IsRecord(type)?FromType$e(context,RecordValue(type),result):result
}function CyclicDependencies(context,key,type){const result=FromType$e(context,type,[key]);return result}
function FromRef$1(_ref){return Any()}function FromProperties(properties){
return Keys$1(properties).reduce((result,key)=>({...result,[key]:FromType$d(properties[key])}),{})}
function FromTypes$1(types){return types.reduce((result,left)=>[...result,FromType$d(left)],[])}
function FromType$d(type){
return IsRef(type)?FromRef$1(type.$ref):IsArray(type)?_Array_(FromType$d(type.items),ArrayOptions(type)):IsConstructor(type)?Constructor(FromTypes$1(type.parameters),FromType$d(type.instanceType)):IsFunction(type)?_Function_(FromTypes$1(type.parameters),FromType$d(type.returnType)):IsIntersect(type)?Intersect(FromTypes$1(type.allOf)):IsObject(type)?_Object_(FromProperties(type.properties)):IsRecord(type)?Record(RecordKey(type),FromType$d(RecordValue(type))):IsUnion(type)?Union(FromTypes$1(type.anyOf)):IsTuple(type)?Tuple(FromTypes$1(type.items)):type
}function CyclicAnyFromParameters(defs,ref){return ref in defs?FromType$d(defs[ref]):Unknown()}
function CyclicExtends(type){return CyclicAnyFromParameters(type.$defs,type.$ref)}
function CyclicInterface(context,heritage,properties){
const instantiatedHeritage=InstantiateTypes(context,State([],[]),heritage)
;const instantiatedProperties=InstantiateProperties({},State([],[]),properties)
;const evaluatedInterface=EvaluateIntersect([...instantiatedHeritage,_Object_(instantiatedProperties)])
;return evaluatedInterface}function CyclicDefinitions(context,dependencies){
const keys=Keys$1(context).filter(key=>dependencies.includes(key));return keys.reduce((result,key)=>{
const type=context[key]
;const instantiatedType=IsInterfaceDeferred(type)?CyclicInterface(context,type.parameters[0],type.parameters[1]):type
;return{...result,[key]:instantiatedType}},{})}function InstantiateCyclic(context,ref,type){
const dependencies=CyclicDependencies(context,ref,type);const definitions=CyclicDefinitions(context,dependencies)
;const result=Cyclic(definitions,ref);return result}function Resolve(defs,ref){
return ref in defs?IsRef(defs[ref])?Resolve(defs,defs[ref].$ref):defs[ref]:Never()}function CyclicTarget(defs,ref){
const result=Resolve(defs,ref);return result}function Canonical(type){
return IsCyclic(type)?CyclicExtends(type):IsUnsafe(type)?Unknown():type}function Extends(inferred,left,right){
const canonicalLeft=Canonical(left);const canonicalRight=Canonical(right)
;return ExtendsLeft(inferred,canonicalLeft,canonicalRight)}const CompareResultEqual=0;const CompareResultDisjoint=1
;const CompareResultLeftInside=2;const CompareResultRightInside=3;function Compare(left,right){
const extendsCheck=[Extends({},left,right),Extends({},right,left)]
;return IsExtendsTrueLike(extendsCheck[0])&&IsExtendsTrueLike(extendsCheck[1])?CompareResultEqual:IsExtendsTrueLike(extendsCheck[0])&&IsExtendsFalse(extendsCheck[1])?CompareResultLeftInside:IsExtendsFalse(extendsCheck[0])&&IsExtendsTrueLike(extendsCheck[1])?CompareResultRightInside:CompareResultDisjoint
}function BroadenFilter(type,types,result=[],all=types){return ShiftLeft(types,(left,right)=>{
const compare=Compare(type,left)
;return IsEqual(compare,CompareResultLeftInside)||IsEqual(compare,CompareResultEqual)?all:IsEqual(compare,CompareResultDisjoint)?BroadenFilter(type,right,[...result,left],all):BroadenFilter(type,right,result,all)
},()=>[...result,type])}function BroadenType(type,types,result){const evaluated=EvaluateType(type)
;return IsAny(evaluated)?[evaluated]:IsUnknown(evaluated)?[evaluated]:IsNever(evaluated)?BroadenTypes(types,result):IsObject(evaluated)?BroadenTypes(types,[...result,evaluated]):BroadenTypes(types,BroadenFilter(evaluated,result))
}function BroadenTypes(types,result=[]){return ShiftLeft(types,(left,right)=>BroadenType(left,right,result),()=>result)}
function Broaden(types){const broadened=BroadenTypes(types);const flattened=Flatten(broadened);return flattened}
function EvaluateAction(type,options){const result=Update(EvaluateType(type),{},options);return result}
function EvaluateInstantiate(context,state,type,options){const instantiatedType=InstantiateType(context,state,type)
;return EvaluateAction(instantiatedType,options)}function CollectDistributionNames(expression,result=[]){
return IsDeferred(expression)&&IsEqual(expression.action,"Conditional")?IsRef(expression.parameters[0])?CollectDistributionNames(expression.parameters[2],CollectDistributionNames(expression.parameters[3],[...result,expression.parameters[0]["$ref"]])):CollectDistributionNames(expression.parameters[2],CollectDistributionNames(expression.parameters[3],result)):IsDeferred(expression)&&IsEqual(expression.action,"Mapped")?IsDeferred(expression.parameters[1])&&IsEqual(expression.parameters[1].action,"KeyOf")&&IsRef(expression.parameters[1].parameters[0])?[...result,expression.parameters[1].parameters[0]["$ref"]]:result:result
}function BuildDistributionArray(parameters,names){
return parameters.reduce((result,left)=>[...result,names.includes(left.name)],[])}
function ZipDistributionArray(arguments_,distributionArray,result=[]){
return ShiftLeft(arguments_,(argumentLeft,argumentRight)=>ShiftLeft(distributionArray,(booleanLeft,booleanRight)=>ZipDistributionArray(argumentRight,booleanRight,[...result,[booleanLeft,argumentLeft]]),()=>result),()=>result)
}function CanonicalArgument(type){
return IsTemplateLiteral(type)?EvaluateTemplateLiteral(type.pattern):IsEnum(type)?EvaluateEnum(type.enum):type}
function Expand(type){const canonicalArgument=CanonicalArgument(type)
;return IsUnion(canonicalArgument)?[...canonicalArgument.anyOf]:[canonicalArgument]}function Append(current,type){
return current.reduce((result,left)=>[...result,[...left,type]],[])}function Cross(current,variants){
return variants.reduce((result,left)=>[...result,...Append(current,left)],[])}function Distribute(zipped){
return zipped.reduce((result,left)=>IsEqual(left[0],true)?Cross(result,Expand(left[1])):Cross(result,[left[1]]),[[]])}
function DistributeArguments(parameters,arguments_,expression){
const distributionNames=CollectDistributionNames(expression)
;const distributionArray=BuildDistributionArray(parameters,distributionNames)
;const zippedArguments=ZipDistributionArray(arguments_,distributionArray)
;return IsDeferred(expression)&&IsEqual(expression.action,"Conditional")?Distribute(zippedArguments):IsDeferred(expression)&&IsEqual(expression.action,"Mapped")?Distribute(zippedArguments):[arguments_]
}function FromNotResolvable(){return["(not-resolvable)",Never()]}function FromNotGeneric(){
return["(not-generic)",Never()]}function FromGeneric(name,parameters,expression){
return[name,Generic(parameters,expression)]}function FromRef(context,ref,arguments_){
return ref in context?FromType$c(context,ref,context[ref]):FromNotResolvable()}
function FromType$c(context,name,target,arguments_){
return IsGeneric(target)?FromGeneric(name,target.parameters,target.expression):IsRef(target)?FromRef(context,target.$ref):FromNotGeneric()
}function ResolveTarget(context,target,arguments_){return FromType$c(context,"(anonymous)",target)}
function AssertArgumentExtends(name,type,extends_){
if(IsInfer(type)||IsCall(type)||IsExtendsTrueLike(Extends({},type,extends_)))return;const cause={parameter:name,
expect:extends_,actual:type};throw new Error(`Argument for parameter ${name} does not satisfy constraint`,{cause:cause})
}function BindArgument(context,state,name,extends_,type){const instantiatedArgument=InstantiateType(context,state,type)
;AssertArgumentExtends(name,instantiatedArgument,extends_);return Assign(context,{[name]:instantiatedArgument})}
function BindArguments(context,state,parameterLeft,parameterRight,arguments_){
const instantiatedExtends=InstantiateType(context,state,parameterLeft.extends)
;const instantiatedEquals=InstantiateType(context,state,parameterLeft.equals)
;return ShiftLeft(arguments_,(left,right)=>BindParameters(BindArgument(context,state,parameterLeft["name"],instantiatedExtends,left),state,parameterRight,right),()=>BindParameters(BindArgument(context,state,parameterLeft["name"],instantiatedExtends,instantiatedEquals),state,parameterRight,[]))
}function BindParameters(context,state,parameters,arguments_){
return ShiftLeft(parameters,(left,right)=>BindArguments(context,state,left,right,arguments_),()=>context)}
function ResolveArgumentsContext(context,state,parameters,arguments_){
return BindParameters(context,state,parameters,arguments_)}let instantiationDepth=0;let instantiationCount=0
;function InstantiationAssert(){if(IsLessThan(instantiationCount,Get().maxInstantiationCount))return
;throw Error("Type instantiation is excessively deep and possibly infinite")}function InstantiationIncrement(){
InstantiationAssert();instantiationCount++;instantiationDepth++}function InstantiationDecrement(){instantiationDepth--
;if(IsEqual(instantiationDepth,0))instantiationCount=0}function Peek(state){
const result=IsGreaterThan(state.callstack.length,0)?state.callstack[state.callstack.length-1]:"";return result}
function IsTailCall(state,name){const result=IsEqual(Peek(state),name);return result}
function CallDispatch(context,state,target,parameters,expression,arguments_){InstantiationIncrement();try{
const argumentsContext=ResolveArgumentsContext(context,state,parameters,arguments_)
;const returnType=InstantiateType(argumentsContext,State([...state["callstack"],target["$ref"]],state["visited"]),expression)
;return InstantiateType(argumentsContext,State([],[]),returnType)}finally{InstantiationDecrement()}}
function CallDistributed(context,state,target,parameters,expression,distributedArguments){
return distributedArguments.reduce((result,arguments_)=>{
const returnType=CallDispatch(context,state,target,parameters,expression,arguments_);return[...result,returnType]},[])}
function CallImmediate(context,state,target,parameters,expression,arguments_){
const distributedArguments=DistributeArguments(parameters,arguments_,expression)
;const returnTypes=CallDistributed(context,state,target,parameters,expression,distributedArguments)
;const result=IsEqual(returnTypes.length,1)?returnTypes[0]:EvaluateUnion(returnTypes);return result}
function CallInstantiate(context,state,target,arguments_){
const instantiatedArguments=InstantiateTypes(context,state,arguments_);const resolved=ResolveTarget(context,target)
;const name=resolved[0];const type=resolved[1]
;const result=IsGeneric(type)?IsTailCall(state,name)?CallConstruct(Ref(name),instantiatedArguments):CallImmediate(context,state,Ref(name),type.parameters,type.expression,instantiatedArguments):CallConstruct(target,instantiatedArguments)
;return result}function CallConstruct(target,arguments_){return Create({["~kind"]:"Call"},{type:"call",target:target,
arguments:arguments_},{})}function IsCall(value){return IsKind(value,"Call")}function RemoveImmutableOperation(type){
return Discard(type,["~immutable"])}function RemoveImmutableAction(type,options){
const result=Update(RemoveImmutableOperation(type),{},options);return result}
function RemoveImmutableInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return RemoveImmutableAction(instantiatedType,options)}
function ApplyMapping(mapping,value){return mapping(value)}function FromLiteral$2(mapping,value){
return IsString$1(value)?Literal(ApplyMapping(mapping,value)):Literal(value)}
function FromTemplateLiteral$2(mapping,pattern){const evaluated=EvaluateTemplateLiteral(pattern)
;const result=FromType$b(mapping,evaluated);return result}function FromUnion$6(mapping,types){
const result=types.map(type=>FromType$b(mapping,type));return Union(result)}function FromType$b(mapping,type){
return IsLiteral(type)?FromLiteral$2(mapping,type.const):IsTemplateLiteral(type)?FromTemplateLiteral$2(mapping,type.pattern):IsUnion(type)?FromUnion$6(mapping,type.anyOf):type
}function CapitalizeDeferred(type,options={}){return Deferred("Capitalize",[type],options)}
function LowercaseDeferred(type,options={}){return Deferred("Lowercase",[type],options)}
function UncapitalizeDeferred(type,options={}){return Deferred("Uncapitalize",[type],options)}
function UppercaseDeferred(type,options={}){return Deferred("Uppercase",[type],options)}
const CapitalizeMapping=input=>input[0].toUpperCase()+input.slice(1);const LowercaseMapping=input=>input.toLowerCase()
;const UncapitalizeMapping=input=>input[0].toLowerCase()+input.slice(1)
;const UppercaseMapping=input=>input.toUpperCase();function CapitalizeAction(type,options){
const result=CanInstantiate([type])?Update(FromType$b(CapitalizeMapping,type),{},options):CapitalizeDeferred(type,options)
;return result}function LowercaseAction(type,options){
const result=CanInstantiate([type])?Update(FromType$b(LowercaseMapping,type),{},options):LowercaseDeferred(type,options)
;return result}function UncapitalizeAction(type,options){
const result=CanInstantiate([type])?Update(FromType$b(UncapitalizeMapping,type),{},options):UncapitalizeDeferred(type,options)
;return result}function UppercaseAction(type,options){
const result=CanInstantiate([type])?Update(FromType$b(UppercaseMapping,type),{},options):UppercaseDeferred(type,options)
;return result}function CapitalizeInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return CapitalizeAction(instantiatedType,options)}
function LowercaseInstantiate(context,state,type,options){const instantiatedType=InstantiateType(context,state,type)
;return LowercaseAction(instantiatedType,options)}function UncapitalizeInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return UncapitalizeAction(instantiatedType,options)}
function UppercaseInstantiate(context,state,type,options){const instantiatedType=InstantiateType(context,state,type)
;return UppercaseAction(instantiatedType,options)}function ConditionalDeferred(left,right,true_,false_,options={}){
return Deferred("Conditional",[left,right,true_,false_],options)}
function ConditionalOperation(context,state,left,right,true_,false_){const extendsResult=Extends(context,left,right)
;return IsExtendsUnion(extendsResult)?Union([InstantiateType(extendsResult.inferred,state,true_),InstantiateType(context,state,false_)]):IsExtendsTrue(extendsResult)?InstantiateType(extendsResult.inferred,state,true_):InstantiateType(context,state,false_)
}function ConditionalAction(context,state,left,right,true_,false_,options){
const result=CanInstantiate([left,right])?Update(ConditionalOperation(context,state,left,right,true_,false_),{},options):ConditionalDeferred(left,right,true_,false_,options)
;return result}function ConditionalInstantiate(context,state,left,right,true_,false_,options){
const instantiatedLeft=InstantiateType(context,state,left);const instantiatedRight=InstantiateType(context,state,right)
;return ConditionalAction(context,state,instantiatedLeft,instantiatedRight,true_,false_,options)}
function ConstructorParametersDeferred(type,options={}){return Deferred("ConstructorParameters",[type],options)}
function ConstructorParametersOperation(type){const parameters=IsConstructor(type)?type["parameters"]:[]
;const instantiatedParameters=InstantiateElements({},State([],[]),parameters);const result=Tuple(instantiatedParameters)
;return result}function ConstructorParametersAction(type,options){
const result=CanInstantiate([type])?Update(ConstructorParametersOperation(type),{},options):ConstructorParametersDeferred(type,options)
;return result}function ConstructorParametersInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return ConstructorParametersAction(instantiatedType,options)}
function ExcludeDeferred(left,right,options={}){return Deferred("Exclude",[left,right],options)}
function ExcludeAction(left,right,options){
const result=CanInstantiate([left,right])?Update(ExcludeOperation(left,right),{},options):ExcludeDeferred(left,right,options)
;return result}function ExcludeInstantiate(context,state,left,right,options){
const instantiatedLeft=InstantiateType(context,state,left);const instantiatedRight=InstantiateType(context,state,right)
;return ExcludeAction(instantiatedLeft,instantiatedRight,options)}function ExtractDeferred(left,right,options={}){
return Deferred("Extract",[left,right],options)}function ExtractType(left,right){const check=Extends({},left,right)
;const result=IsExtendsTrueLike(check)?[left]:[];return result}function ExtractUnion(left,right,result=[]){
return ShiftLeft(left,(head,tail)=>ExtractUnion(tail,right,[...result,...ExtractType(head,right)]),()=>result)}
function ExtractOperation(left,right){const evaluated=EvaluateType(left)
;const canonical=IsUnion(evaluated)?evaluated.anyOf:[evaluated];const remaining=ExtractUnion(canonical,right)
;const result=EvaluateUnion(remaining);return result}function ExtractAction(left,right,options){
const result=CanInstantiate([left,right])?Update(ExtractOperation(left,right),{},options):ExtractDeferred(left,right,options)
;return result}function ExtractInstantiate(context,state,left,right,options){
const instantiatedLeft=InstantiateType(context,state,left);const instantiatedRight=InstantiateType(context,state,right)
;return ExtractAction(instantiatedLeft,instantiatedRight,options)}function IndexDeferred(type,indexer,options={}){
return Deferred("Index",[type,indexer],options)}function FromCyclic$4(defs,ref){const target=CyclicTarget(defs,ref)
;const result=FromType$a(target);return result}function FromDependent$4(if_,then_,else_){
const evaluated=EvaluateDependent(if_,then_,else_);const result=FromType$a(evaluated);return result}
function CollapseIntersectProperties(left,right){const leftKeys=Keys$1(left).filter(key=>!HasPropertyKey(right,key))
;const rightKeys=Keys$1(right).filter(key=>!HasPropertyKey(left,key))
;const sharedKeys=Keys$1(left).filter(key=>HasPropertyKey(right,key))
;const leftProperties=leftKeys.reduce((result,key)=>({...result,[key]:left[key]}),{})
;const rightProperties=rightKeys.reduce((result,key)=>({...result,[key]:right[key]}),{})
;const sharedProperties=sharedKeys.reduce((result,key)=>({...result,
[key]:EvaluatePropertyIntersect(left[key],right[key])}),{});const unique=Assign(leftProperties,rightProperties)
;const shared=Assign(unique,sharedProperties);return shared}function FromIntersect$4(types){
return types.reduce((result,left)=>CollapseIntersectProperties(result,FromType$a(left)),{})}
function FromObject$5(properties){return properties}function FromTuple$3(types){const object=TupleToObject(Tuple(types))
;const result=FromType$a(object);return result}function CollapseUnionProperties(left,right){
const sharedKeys=Keys$1(left).filter(key=>key in right);const result=sharedKeys.reduce((result,key)=>({...result,
[key]:EvaluatePropertyUnion(left[key],right[key])}),{});return result}function ReduceVariants(types,result){
return ShiftLeft(types,(left,right)=>ReduceVariants(right,CollapseUnionProperties(result,FromType$a(left))),()=>result)}
function FromUnion$5(types){
return ShiftLeft(types,(left,right)=>ReduceVariants(right,FromType$a(left)),()=>Unreachable())}
function FromType$a(type){
return IsCyclic(type)?FromCyclic$4(type.$defs,type.$ref):IsDependent(type)?FromDependent$4(type.if,type.then,type.else):IsIntersect(type)?FromIntersect$4(type.allOf):IsUnion(type)?FromUnion$5(type.anyOf):IsTuple(type)?FromTuple$3(type.items):IsObject(type)?FromObject$5(type.properties):{}
}function CollapseToObject(type){const properties=FromType$a(type);const result=_Object_(properties);return result}
const integerKeyPattern=new RegExp("^(?:0|[1-9][0-9]*)$");function ConvertToIntegerKey(value){const normal=`${value}`
;return integerKeyPattern.test(normal)?parseInt(normal):value}function NormalizeLiteral(value){
return Literal(ConvertToIntegerKey(value))}function NormalizeIndexerTypes(types){
return types.map(type=>NormalizeIndexer(type))}function NormalizeIndexer(type){
return IsIntersect(type)?Intersect(NormalizeIndexerTypes(type.allOf)):IsUnion(type)?Union(NormalizeIndexerTypes(type.anyOf)):IsLiteral(type)?NormalizeLiteral(type.const):type
}function FromArray$2(type,indexer){const normalizedIndexer=NormalizeIndexer(indexer)
;const check=Extends({},normalizedIndexer,Number$1())
;const result=IsExtendsTrueLike(check)?type:IsLiteral(indexer)&&IsEqual(indexer.const,"length")?Number$1():Never()
;return result}function FromCyclic$3(defs,ref){const target=CyclicTarget(defs,ref);const result=FromType$9(target)
;return result}function FromDependent$3(if_,then_,else_){const evaluated=EvaluateDependent(if_,then_,else_)
;const result=FromType$9(evaluated);return result}function FromEnum$1(values){const evaluated=EvaluateEnum(values)
;const result=FromType$9(evaluated);return result}function FromIntersect$3(types){
const evaluated=EvaluateIntersect(types);const result=FromType$9(evaluated);return result}function FromLiteral$1(value){
const result=[`${value}`];return result}function FromTemplateLiteral$1(pattern){
const evaluated=EvaluateTemplateLiteral(pattern);const result=FromType$9(evaluated);return result}
function FromUnion$4(types){return types.reduce((result,left)=>[...result,...FromType$9(left)],[])}
function FromType$9(type){
return IsCyclic(type)?FromCyclic$3(type.$defs,type.$ref):IsDependent(type)?FromDependent$3(type.if,type.then,type.else):IsEnum(type)?FromEnum$1(type.enum):IsIntersect(type)?FromIntersect$3(type.allOf):IsLiteral(type)?FromLiteral$1(type.const):IsTemplateLiteral(type)?FromTemplateLiteral$1(type.pattern):IsUnion(type)?FromUnion$4(type.anyOf):[]
}function ToIndexableKeys(type){const result=FromType$9(type);return result}function FromTypes(properties,types){
return types.map(type=>FromType$8(properties,type))}function FromType$8(properties,type){
return IsArray(type)?_Array_(FromType$8(properties,type.items)):IsConstructor(type)?Constructor(FromTypes(properties,type.parameters),FromType$8(properties,type.instanceType)):IsFunction(type)?_Function_(FromTypes(properties,type.parameters),FromType$8(properties,type.returnType)):IsTuple(type)?Tuple(FromTypes(properties,type.items)):IsUnion(type)?Union(FromTypes(properties,type.anyOf)):IsIntersect(type)?Intersect(FromTypes(properties,type.allOf)):IsThis(type)?_Object_(properties):type
}function ExpandThis(properties,type){const result=FromType$8(properties,type);return result}
function IndexProperty(properties,key){const selectedType=key in properties?properties[key]:Never()
;const result=ExpandThis(properties,selectedType);return result}function IndexProperties(properties,keys){
return keys.reduce((result,left)=>[...result,IndexProperty(properties,left)],[])}
function FromIndexer(properties,indexer){const keys=ToIndexableKeys(indexer)
;const variants=IndexProperties(properties,keys);const result=EvaluateUnion(variants);return result}
const NumericKeyPattern=new RegExp(IntegerKey);function NumericKeys(keys){
const result=keys.filter(key=>NumericKeyPattern.test(key));return result}function FromIndexerNumber(properties){
const keys=PropertyKeys(properties);const numericKeys=NumericKeys(keys)
;const variants=IndexProperties(properties,numericKeys);const result=EvaluateUnion(variants);return result}
function FromObject$4(properties,indexer){
const result=IsNumber(indexer)?FromIndexerNumber(properties):FromIndexer(properties,indexer);return result}
function ConvertLiteral(value){return Literal(ConvertToIntegerKey(value))}function ArrayIndexerTypes(types){
return types.map(type=>FormatArrayIndexer(type))}function FormatArrayIndexer(type){
return IsIntersect(type)?Intersect(ArrayIndexerTypes(type.allOf)):IsUnion(type)?Union(ArrayIndexerTypes(type.anyOf)):IsLiteral(type)?ConvertLiteral(type.const):type
}function IndexElementsWithIndexer(types,indexer){return types.reduceRight((result,right,index)=>{
const check=Extends({},Literal(index),indexer);return IsExtendsTrueLike(check)?[right,...result]:result},[])}
function FromTupleWithIndexer(types,indexer){const formattedArrayIndexer=FormatArrayIndexer(indexer)
;const elements=IndexElementsWithIndexer(types,formattedArrayIndexer);return EvaluateUnionFast(elements)}
function FromTupleWithoutIndexer(types){return EvaluateUnionFast(types)}function FromTuple$2(types,indexer){
return IsLiteral(indexer)&&IsEqual(indexer.const,"length")?Literal(types.length):IsNumber(indexer)||IsInteger(indexer)?FromTupleWithoutIndexer(types):FromTupleWithIndexer(types,indexer)
}function FromType$7(type,indexer){
return IsArray(type)?FromArray$2(type.items,indexer):IsObject(type)?FromObject$4(type.properties,indexer):IsTuple(type)?FromTuple$2(type.items,indexer):Never()
}function NormalizeType$1(type){
const result=IsCyclic(type)||IsDependent(type)||IsIntersect(type)||IsUnion(type)?CollapseToObject(type):type
;return result}function IndexAction(type,indexer,options){
const result=CanInstantiate([type,indexer])?Update(FromType$7(NormalizeType$1(type),indexer),{},options):IndexDeferred(type,indexer,options)
;return result}function IndexInstantiate(context,state,type,indexer,options){
const instantiatedType=InstantiateType(context,state,type)
;const instantiatedIndexer=InstantiateType(context,state,indexer)
;return IndexAction(instantiatedType,instantiatedIndexer,options)}function InstanceTypeDeferred(type,options={}){
return Deferred("InstanceType",[type],options)}function InstanceTypeOperation(type){
return IsConstructor(type)?type["instanceType"]:Never()}function InstanceTypeAction(type,options){
const result=CanInstantiate([type])?Update(InstanceTypeOperation(type),{},options):InstanceTypeDeferred(type,options)
;return result}function InstanceTypeInstantiate(context,state,type,options={}){
const instantiatedType=InstantiateType(context,state,type);return InstanceTypeAction(instantiatedType,options)}
function KeyOfDeferred(type,options={}){return Deferred("KeyOf",[type],options)}function FromAny(){
return Union([Number$1(),String$1(),Symbol()])}function FromArray$1(_type){return Number$1()}
function FromPropertyKeys(keys){
const result=keys.reduce((result,left)=>IsLiteralValue(left)?[...result,Literal(ConvertToIntegerKey(left))]:Unreachable(),[])
;return result}function FromObject$3(properties){const propertyKeys=Keys$1(properties)
;const variants=FromPropertyKeys(propertyKeys);const result=EvaluateUnionFast(variants);return result}
function FromRecord(type){return RecordKey(type)}function FromTuple$1(types){
const result=types.map((_,index)=>Literal(index));return EvaluateUnionFast(result)}function FromType$6(type){
return IsAny(type)?FromAny():IsArray(type)?FromArray$1(type.items):IsObject(type)?FromObject$3(type.properties):IsRecord(type)?FromRecord(type):IsTuple(type)?FromTuple$1(type.items):Never()
}function NormalizeType(type){
const result=IsCyclic(type)||IsDependent(type)||IsIntersect(type)||IsUnion(type)?CollapseToObject(type):type
;return result}function KeyOfAction(type,options){
return CanInstantiate([type])?Update(FromType$6(NormalizeType(type)),{},options):KeyOfDeferred(type,options)}
function KeyOfInstantiate(context,state,type,options){const instantiatedType=InstantiateType(context,state,type)
;return KeyOfAction(instantiatedType,options)}function MappedDeferred(identifier,type,as,property,options={}){
return Deferred("Mapped",[identifier,type,as,property],options)}function FromTemplateLiteral(pattern){
const evaluated=EvaluateTemplateLiteral(pattern);const result=FromType$5(evaluated);return result}
function FromUnion$3(types){return types.reduce((result,left)=>[...result,...FromType$5(left)],[])}
function FromEnum(values){const evaluated=EvaluateEnum(values);const result=FromType$5(evaluated);return result}
function FromLiteral(value){const result=IsNumber$1(value)?[Literal(`${value}`)]:[Literal(value)];return result}
function FromType$5(type){
const result=IsEnum(type)?FromEnum(type.enum):IsLiteral(type)?FromLiteral(type.const):IsTemplateLiteral(type)?FromTemplateLiteral(type.pattern):IsUnion(type)?FromUnion$3(type.anyOf):[type]
;return result}function MappedVariants(type){const result=FromType$5(type);return result}
function CanonicalAs(instantiatedAs){
const result=IsTemplateLiteral(instantiatedAs)?EvaluateTemplateLiteral(instantiatedAs.pattern):instantiatedAs
;return result}function MappedVariant(context,state,identifier,variant,as,property){
const variantContext=Assign(context,{[identifier["name"]]:variant})
;const instantiatedAs=InstantiateType(variantContext,state,as);const canonicalAs=CanonicalAs(instantiatedAs)
;const instantiatedProperty=InstantiateType(variantContext,state,property)
;return IsLiteralNumber(canonicalAs)||IsLiteralString(canonicalAs)?{[canonicalAs.const]:instantiatedProperty}:{}}
function MappedProperties(context,state,identifier,variants,as,property){
return variants.reduce((result,left)=>[...result,MappedVariant(context,state,identifier,left,as,property)],[])}
function MappedObjects(properties){return properties.reduce((result,left)=>[...result,_Object_(left)],[])}
function MappedOperation(context,state,identifier,type,as,property){const variants=MappedVariants(type)
;const mappedProperties=MappedProperties(context,state,identifier,variants,as,property)
;const mappedObjects=MappedObjects(mappedProperties);const result=EvaluateIntersect(mappedObjects);return result}
function MappedAction(context,state,identifier,type,as,property,options){
const result=CanInstantiate([type])?Update(MappedOperation(context,state,identifier,type,as,property),{},options):MappedDeferred(identifier,type,as,property,options)
;return result}function MappedInstantiate(context,state,identifier,type,as,property,options){
const instantiatedType=InstantiateType(context,state,type)
;return MappedAction(context,state,identifier,instantiatedType,as,property,options)}
function InstantiateCyclics(context,declarations,cyclicKeys){const declarationContext=Assign(context,declarations)
;const declarationKeys=Keys$1(declarations).filter(key=>cyclicKeys.includes(key))
;return declarationKeys.reduce((result,key)=>({...result,
[key]:InstantiateCyclic(declarationContext,key,declarations[key])}),{})}
function InstantiateNonCyclics(context,declarations,cyclicKeys){const declarationContext=Assign(context,declarations)
;const declarationKeys=Keys$1(declarations).filter(key=>!cyclicKeys.includes(key))
;return declarationKeys.reduce((result,key)=>({...result,
[key]:InstantiateType(declarationContext,State([],[]),declarations[key])}),{})}
function InstantiateModule(context,declarations,options){const cyclicCandidates=CyclicCandidates(declarations)
;const instantiatedCyclics=InstantiateCyclics(context,declarations,cyclicCandidates)
;const instantiatedNonCyclics=InstantiateNonCyclics(context,declarations,cyclicCandidates);const instantiatedModule={
...instantiatedCyclics,...instantiatedNonCyclics};return Update(instantiatedModule,{},options)}
function ModuleInstantiate(context,_state,declarations,options){
const instantiatedModule=InstantiateModule(context,declarations,options);return instantiatedModule}
function NonNullableDeferred(type,options={}){return Deferred("NonNullable",[type],options)}
function NonNullableOperation(type){const excluded=Union([Null(),Undefined()]);return ExcludeAction(type,excluded,{})}
function NonNullableAction(type,options){
const result=CanInstantiate([type])?Update(NonNullableOperation(type),{},options):NonNullableDeferred(type,options)
;return result}function NonNullableInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return NonNullableAction(instantiatedType,options)}
function OmitDeferred(type,indexer,options={}){return Deferred("Omit",[type,indexer],options)}
function ToIndexable(type){const collapsed=CollapseToObject(type)
;const result=IsObject(collapsed)?collapsed.properties:Unreachable();return result}function FromKeys$1(properties,keys){
const result=Keys$1(properties).reduce((result,key)=>keys.includes(key)?result:{...result,[key]:properties[key]},{})
;return result}function FromType$4(type,indexer){const indexable=ToIndexable(type)
;const indexableKeys=ToIndexableKeys(indexer);const omitted=FromKeys$1(indexable,indexableKeys)
;const result=_Object_(omitted);return result}function OmitAction(type,indexer,options){
const result=CanInstantiate([type,indexer])?Update(FromType$4(type,indexer),{},options):OmitDeferred(type,indexer,options)
;return result}function OmitInstantiate(context,state,type,indexer,options){
const instantiatedType=InstantiateType(context,state,type)
;const instantiatedIndexer=InstantiateType(context,state,indexer)
;return OmitAction(instantiatedType,instantiatedIndexer,options)}function ParametersDeferred(type,options={}){
return Deferred("Parameters",[type],options)}function ParametersOperation(type){
const parameters=IsFunction(type)?type["parameters"]:[]
;const instantiatedParameters=InstantiateElements({},State([],[]),parameters);const result=Tuple(instantiatedParameters)
;return result}function ParametersAction(type,options){
const result=CanInstantiate([type])?Update(ParametersOperation(type),{},options):ParametersDeferred(type,options)
;return result}function ParametersInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return ParametersAction(instantiatedType,options)}
function PartialDeferred(type,options={}){return Deferred("Partial",[type],options)}function FromCyclic$2(defs,ref){
const target=CyclicTarget(defs,ref);const partial=FromType$3(target);const result=Cyclic(Assign(defs,{[ref]:partial
}),ref);return result}function FromDependent$2(if_,then_,else_){const evaluated=EvaluateDependent(if_,then_,else_)
;const result=FromType$3(evaluated);return result}function FromIntersect$2(types){
const evaluated=EvaluateIntersect(types);const result=FromType$3(evaluated);return result}function FromUnion$2(types){
const result=types.map(type=>FromType$3(type));return Union(result)}function FromObject$2(properties){
const mapped=Keys$1(properties).reduce((result,left)=>({...result,[left]:AddOptional(properties[left])}),{})
;const result=_Object_(mapped);return result}function FromType$3(type){
return IsCyclic(type)?FromCyclic$2(type.$defs,type.$ref):IsDependent(type)?FromDependent$2(type.if,type.then,type.else):IsIntersect(type)?FromIntersect$2(type.allOf):IsUnion(type)?FromUnion$2(type.anyOf):IsObject(type)?FromObject$2(type.properties):_Object_({})
}function PartialAction(type,options){
const result=CanInstantiate([type])?Update(FromType$3(type),{},options):PartialDeferred(type,options);return result}
function PartialInstantiate(context,state,type,options){const instantiatedType=InstantiateType(context,state,type)
;return PartialAction(instantiatedType,options)}function PickDeferred(type,indexer,options={}){
return Deferred("Pick",[type,indexer],options)}function FromKeys(properties,keys){
const result=Keys$1(properties).reduce((result,key)=>keys.includes(key)?Assign(result,{[key]:properties[key]
}):result,{});return result}function FromType$2(type,indexer){const indexable=ToIndexable(type)
;const keys=ToIndexableKeys(indexer);const applied=FromKeys(indexable,keys);const result=_Object_(applied);return result
}function PickAction(type,indexer,options){
const result=CanInstantiate([type,indexer])?Update(FromType$2(type,indexer),{},options):PickDeferred(type,indexer,options)
;return result}function PickInstantiate(context,state,type,indexer,options){
const instantiatedType=InstantiateType(context,state,type)
;const instantiatedIndexer=InstantiateType(context,state,indexer)
;return PickAction(instantiatedType,instantiatedIndexer,options)}function ReadonlyObjectDeferred(type,options={}){
return Deferred("ReadonlyObject",[type],options)}function FromArray(type){const result=AddImmutable(_Array_(type))
;return result}function FromCyclic$1(defs,ref){const target=CyclicTarget(defs,ref);const partial=FromType$1(target)
;const result=Cyclic(Assign(defs,{[ref]:partial}),ref);return result}function FromDependent$1(if_,then_,else_){
const evaluated=EvaluateDependent(if_,then_,else_);const result=FromType$1(evaluated);return result}
function FromIntersect$1(types){const evaluated=EvaluateIntersect(types);const result=FromType$1(evaluated)
;return result}function FromObject$1(properties){const mapped=Keys$1(properties).reduce((result,left)=>({...result,
[left]:AddReadonly(properties[left])}),{});const result=_Object_(mapped);return result}function FromTuple(types){
const result=AddImmutable(Tuple(types));return result}function FromUnion$1(types){
const result=types.map(type=>FromType$1(type));return Union(result)}function FromType$1(type){
return IsArray(type)?FromArray(type.items):IsCyclic(type)?FromCyclic$1(type.$defs,type.$ref):IsDependent(type)?FromDependent$1(type.if,type.then,type.else):IsIntersect(type)?FromIntersect$1(type.allOf):IsObject(type)?FromObject$1(type.properties):IsTuple(type)?FromTuple(type.items):IsUnion(type)?FromUnion$1(type.anyOf):type
}function ReadonlyObjectAction(type,options){
const result=CanInstantiate([type])?Update(FromType$1(type),{},options):ReadonlyObjectDeferred(type);return result}
function ReadonlyObjectInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return ReadonlyObjectAction(instantiatedType,options)}
function RefInstantiate(context,state,type,ref){
return state.visited.includes(ref)?type:ref in context?InstantiateType(context,State(state["callstack"],[...state["visited"],ref]),context[ref]):type
}function FromCyclic(defs,ref){const target=CyclicTarget(defs,ref);const partial=FromType(target)
;const result=Cyclic(Assign(defs,{[ref]:partial}),ref);return result}function FromDependent(if_,then_,else_){
const evaluated=EvaluateDependent(if_,then_,else_);const result=FromType(evaluated);return result}
function FromIntersect(types){const evaluated=EvaluateIntersect(types);const result=FromType(evaluated);return result}
function FromUnion(types){const result=types.map(type=>FromType(type));return Union(result)}
function RemoveOptional(type,options={}){return RemoveOptionalAction(type,options)}function FromObject(properties){
const mapped=Keys$1(properties).reduce((result,left)=>({...result,[left]:RemoveOptional(properties[left])}),{})
;const result=_Object_(mapped);return result}function FromType(type){
return IsCyclic(type)?FromCyclic(type.$defs,type.$ref):IsDependent(type)?FromDependent(type.if,type.then,type.else):IsIntersect(type)?FromIntersect(type.allOf):IsUnion(type)?FromUnion(type.anyOf):IsObject(type)?FromObject(type.properties):_Object_({})
}function RequiredDeferred(type,options={}){return Deferred("Required",[type],options)}
function RequiredAction(type,options){
const result=CanInstantiate([type])?Update(FromType(type),{},options):RequiredDeferred(type,options);return result}
function RequiredInstantiate(context,state,type,options){const instaniatedType=InstantiateType(context,state,type)
;return RequiredAction(instaniatedType,options)}function ReturnTypeDeferred(type,options={}){
return Deferred("ReturnType",[type],options)}function ReturnTypeOperation(type){
return IsFunction(type)?type["returnType"]:Never()}function ReturnTypeAction(type,options){
const result=CanInstantiate([type])?Update(ReturnTypeOperation(type),{},options):ReturnTypeDeferred(type,options)
;return result}function ReturnTypeInstantiate(context,state,type,options={}){
const instantiatedType=InstantiateType(context,state,type);return ReturnTypeAction(instantiatedType,options)}
function WithDeferred(type,options){return Deferred("With",[type,options],{})}function WithAction(type,options){
const result=CanInstantiate([type])?Update(type,{},options):WithDeferred(type,options);return result}
function WithInstantiate(context,state,type,options){const instaniatedType=InstantiateType(context,state,type)
;return WithAction(instaniatedType,options)}function SpreadElement(type){
const result=IsRest(type)?IsTuple(type.items)?RestSpread(type.items.items):IsInfer(type.items)?[type]:IsRef(type.items)?[type]:[Never()]:[type]
;return result}function RestSpread(types){
const result=types.reduce((result,left)=>[...result,...SpreadElement(left)],[]);return result}
function State(callstack,visited){return{callstack:callstack,visited:visited}}function CanInstantiate(types){
return ShiftLeft(types,(left,right)=>IsRef(left)?false:CanInstantiate(right),()=>true)}
function InstantiateProperties(context,state,properties){return Keys$1(properties).reduce((result,key)=>({...result,
[key]:InstantiateType(context,state,properties[key])}),{})}function InstantiateElements(context,state,types){
const elements=InstantiateTypes(context,state,types);const result=RestSpread(elements);return result}
function InstantiateTypes(context,state,types){return types.map(type=>InstantiateType(context,state,type))}
function WithModifiers(type,instantiatedType){
const withOptional=IsOptional(type)?AddOptionalAction(instantiatedType,{}):instantiatedType
;const withReadonly=IsReadonly(type)?AddReadonlyAction(withOptional,{}):withOptional
;const withImmutable=IsImmutable(type)?AddImmutableAction(withReadonly,{}):withReadonly;return withImmutable}
function InstantiateDeferred(context,state,action,parameters,options){
return IsEqual(action,"AddImmutable")?AddImmutableInstantiate(context,state,parameters[0],options):IsEqual(action,"RemoveImmutable")?RemoveImmutableInstantiate(context,state,parameters[0],options):IsEqual(action,"AddReadonly")?AddReadonlyInstantiate(context,state,parameters[0],options):IsEqual(action,"RemoveReadonly")?RemoveReadonlyInstantiate(context,state,parameters[0],options):IsEqual(action,"AddOptional")?AddOptionalInstantiate(context,state,parameters[0],options):IsEqual(action,"RemoveOptional")?RemoveOptionalInstantiate(context,state,parameters[0],options):IsEqual(action,"Capitalize")?CapitalizeInstantiate(context,state,parameters[0],options):IsEqual(action,"Conditional")?ConditionalInstantiate(context,state,parameters[0],parameters[1],parameters[2],parameters[3],options):IsEqual(action,"ConstructorParameters")?ConstructorParametersInstantiate(context,state,parameters[0],options):IsEqual(action,"Evaluate")?EvaluateInstantiate(context,state,parameters[0],options):IsEqual(action,"Exclude")?ExcludeInstantiate(context,state,parameters[0],parameters[1],options):IsEqual(action,"Extract")?ExtractInstantiate(context,state,parameters[0],parameters[1],options):IsEqual(action,"Index")?IndexInstantiate(context,state,parameters[0],parameters[1],options):IsEqual(action,"InstanceType")?InstanceTypeInstantiate(context,state,parameters[0],options):IsEqual(action,"Interface")?InterfaceInstantiate(context,state,parameters[0],parameters[1],options):IsEqual(action,"KeyOf")?KeyOfInstantiate(context,state,parameters[0],options):IsEqual(action,"Lowercase")?LowercaseInstantiate(context,state,parameters[0],options):IsEqual(action,"Mapped")?MappedInstantiate(context,state,parameters[0],parameters[1],parameters[2],parameters[3],options):IsEqual(action,"Module")?ModuleInstantiate(context,state,parameters[0],options):IsEqual(action,"NonNullable")?NonNullableInstantiate(context,state,parameters[0],options):IsEqual(action,"Pick")?PickInstantiate(context,state,parameters[0],parameters[1],options):IsEqual(action,"Parameters")?ParametersInstantiate(context,state,parameters[0],options):IsEqual(action,"Partial")?PartialInstantiate(context,state,parameters[0],options):IsEqual(action,"Omit")?OmitInstantiate(context,state,parameters[0],parameters[1],options):IsEqual(action,"ReadonlyObject")?ReadonlyObjectInstantiate(context,state,parameters[0],options):IsEqual(action,"Record")?RecordInstantiate(context,state,parameters[0],parameters[1],options):IsEqual(action,"Required")?RequiredInstantiate(context,state,parameters[0],options):IsEqual(action,"ReturnType")?ReturnTypeInstantiate(context,state,parameters[0],options):IsEqual(action,"TemplateLiteral")?TemplateLiteralInstantiate(context,state,parameters[0],options):IsEqual(action,"Uncapitalize")?UncapitalizeInstantiate(context,state,parameters[0],options):IsEqual(action,"Uppercase")?UppercaseInstantiate(context,state,parameters[0],options):IsEqual(action,"With")?WithInstantiate(context,state,parameters[0],parameters[1]):Deferred(action,parameters,options)
}function InstantiateImmediate(context,state,type){
const instantiatedType=IsRef(type)?RefInstantiate(context,state,type,type.$ref):IsArray(type)?_Array_(InstantiateType(context,state,type.items),ArrayOptions(type)):IsCall(type)?CallInstantiate(context,state,type.target,type.arguments):IsConstructor(type)?Constructor(InstantiateTypes(context,state,type.parameters),InstantiateType(context,state,type.instanceType),ConstructorOptions(type)):IsFunction(type)?_Function_(InstantiateTypes(context,state,type.parameters),InstantiateType(context,state,type.returnType),FunctionOptions(type)):IsDependent(type)?Dependent(InstantiateType(context,state,type.if),InstantiateType(context,state,type.then),InstantiateType(context,state,type.else),DependentOptions(type)):IsIntersect(type)?Intersect(InstantiateTypes(context,state,type.allOf),IntersectOptions(type)):IsObject(type)?_Object_(InstantiateProperties(context,state,type.properties),ObjectOptions(type)):IsRecord(type)?RecordFromPattern(RecordPattern(type),InstantiateType(context,state,RecordValue(type))):IsRest(type)?Rest(InstantiateType(context,state,type.items)):IsTuple(type)?Tuple(InstantiateElements(context,state,type.items),TupleOptions(type)):IsUnion(type)?Union(InstantiateTypes(context,state,type.anyOf),UnionOptions(type)):type
;const withModifiers=WithModifiers(type,instantiatedType);return withModifiers}
function InstantiateType(context,state,type){
const result=IsDeferred(type)?InstantiateDeferred(context,state,type.action,type.parameters,type.options):InstantiateImmediate(context,state,type)
;return result}function AddImmutableAction(type,options){const result=Update(type,{"~immutable":true},options)
;return result}function AddImmutableInstantiate(context,state,type,options){
const instantiatedType=InstantiateType(context,state,type);return AddImmutableAction(instantiatedType,options)}
function AddImmutable(type,options={}){return AddImmutableAction(type,options)}
export{_Array_ as Array,Boolean,Enum,Integer,Literal,Null,Number$1 as Number,_Object_ as Object,Optional,Record,String$1 as String,Union};
